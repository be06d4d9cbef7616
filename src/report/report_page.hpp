#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace wallheat {

/// Writes one self-contained HTML page of a report, which needs no network. Without JavaScript,
/// figures cannot be saved and only the first rows of long tables are there; without gnuplot, there
/// are no figures, and the page says so. Throws RunError if gnuplot fails.
void write_page(const Report& report, std::ostream& out);
/// One of several reports, below each other.
void write_page(const std::string& title, const std::vector<Report>& reports, std::ostream& out);

/// The style of a page, which follows the reader's choice of light or dark, figures included.
[[nodiscard]] std::string page_style();
/// What a page does with JavaScript: figures are saved, long tables are sorted and turned page by
/// page.
extern const std::string_view page_script;

/// Text as it stands in HTML and XML, whatever it holds.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace wallheat
