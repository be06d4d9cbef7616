#pragma once

#include <string>

#include "monitor/file_status.hpp"
#include "report/report.hpp"

namespace wallheat {

/// Returns a report of the status. With `why`, it contains a message for each plan that did not
/// simply converge in its first attempt, for which the rows are read again. Throws RunError.
[[nodiscard]] Report make_report(const FileStatus& status, bool why = false);
/// Returns the sums as one line, with the time of day (UTC).
[[nodiscard]] std::string one_line_text(const FileStatus& status);

}  // namespace wallheat
