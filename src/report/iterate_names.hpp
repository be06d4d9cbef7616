#pragma once

#include <string>

#include "plans/plan_source.hpp"
#include "report/report.hpp"

namespace wallheat {

/// Says what iterates the answers in a CSV are, of the plans of a source, and so what the program
/// does that printed them. The CSV has the column building_id, or id, and some of the reference's
/// four, in any order, with any number of digits. Solves plans on all cores, and tells on stderr
/// how many are done. Throws RunError, which names the file, and the line that is wrong.
[[nodiscard]] Report name_iterates(const std::string& file, const PlanSource& source);

}  // namespace wallheat
