#pragma once

#include <string>

#include "report/page.hpp"
#include "view/json_forward.hpp"

namespace wallheat {

/// What differs between a run and another one: settings first, then times, answers, and where the
/// time went. A part of the page. Throws RunError where a file is damaged, as answers_of.
[[nodiscard]] std::string comparison_html(const ReportedRun& run, const ReportedRun& other);
/// The same as data, with all ids.
[[nodiscard]] Json comparison_json(const ReportedRun& run, const ReportedRun& other);

}  // namespace wallheat
