#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace wallheat {

/// Writes one self-contained HTML page of a report, which needs no network and no JavaScript.
/// Throws RunError as Plot::draw.
void write_page(const Report& report, std::ostream& out);
/// One of several reports, below each other.
void write_page(const std::string& title, const std::vector<Report>& reports, std::ostream& out);

}  // namespace wallheat
