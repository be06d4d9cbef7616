#pragma once

#include <string>
#include <vector>

#include "monitor/file_status.hpp"
#include "report/report.hpp"

namespace wallheat {

/// Returns a report of the status. With `why`, it contains a message for each plan that did not
/// simply converge in its first attempt, for which the rows are read again. Throws RunError.
[[nodiscard]] Report make_report(const FileStatus& status, bool why = false);
/// Returns the sums as one line, with the time of day (UTC).
[[nodiscard]] std::string one_line_text(const FileStatus& status);

/// Progress of a run since a command has begun to follow it.
class ProgressHistory {
 public:
  /// Adds the counts of a status. `elapsed_s` is the time since the first one.
  void add(double elapsed_s, const PlanCounts& plans);
  /// Returns the report for a live page: that of make_report(), with the share of plans that have a
  /// result, and with a figure of their number over time.
  [[nodiscard]] Report page(const FileStatus& status) const;

 private:
  std::vector<double> seconds_, done_;
};

}  // namespace wallheat
