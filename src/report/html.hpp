#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/gnuplot.hpp"

// Parts of a page that needs no network, can be read without JavaScript, and follows the reader's
// choice of light or dark. Texts may hold anything.

namespace wallheat {

/// Text as it stands in HTML.
[[nodiscard]] std::string escaped(std::string_view text);

/// From the first byte of a page to its heading.
[[nodiscard]] std::string page_beginning(const std::string& title);

/// The script that saves figures and sorts plans, and the end of the page.
[[nodiscard]] std::string page_end();

/// The first row is the head; `alignment` as in table_lines.
[[nodiscard]] std::string table(std::string_view alignment,
                                const std::vector<std::vector<std::string>>& rows);

[[nodiscard]] std::string section(const std::string& title, const std::string& body);

/// A picture of gnuplot's as an element of the page.
[[nodiscard]] std::string inline_svg(const std::string& svg);
[[nodiscard]] std::string inline_plot(const Plot& plot, int height);

}  // namespace wallheat
