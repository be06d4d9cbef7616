#pragma once

#include <string>
#include <string_view>

namespace wallheat {

/// The style of a page, which follows the reader's choice of light or dark, figures included.
[[nodiscard]] std::string page_style();

/// What a page does with JavaScript: figures are saved, long tables are sorted and turned page by
/// page.
extern const std::string_view page_script;

}  // namespace wallheat
