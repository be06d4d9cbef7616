#pragma once

#include <ostream>

#include "report/report.hpp"

namespace wallheat {

/// Writes one self-contained HTML page of a report, which needs no network and no JavaScript.
/// Throws RunError as Plot::draw.
void write_page(const Report& report, std::ostream& out);

}  // namespace wallheat
