#pragma once

#include <functional>
#include <optional>
#include <string>

#include "monitor/file_status.hpp"
#include "plans/plan_source.hpp"
#include "report/report.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// The plans of a file without a result, which averages do not include.
struct MissingPlans {
  PlanCounts counts;  ///< of all plans of the file
  /// Predicted work of the missing plans, in % of all plans, and the median of their interior cells
  /// divided by that of the others. nullopt if they are unknown, or if none or all are missing.
  std::optional<double> work_pct{}, size_ratio{};

  [[nodiscard]] std::size_t missing() const { return counts.failed + counts.pending; }
  /// Returns a description of the missing plans; empty if none or all are missing.
  [[nodiscard]] std::string text() const;
};

/// Counts the missing plans of a file, and estimates their work from the masks of up to a thousand
/// plans. `open_plans` is called for that if some plans are missing; if it throws RunError, or if
/// no mask can be read, the work is unknown.
[[nodiscard]] MissingPlans describe_missing_plans(
    const ResultReader& reader, const std::function<SharedPlanSource()>& open_plans);

/// Adds the numbers for JSON output.
void add_missing_plans(const MissingPlans& missing, Report& report);
/// Sets the error message and the exit status of a report that requires results of all plans, if
/// some are missing.
void require_no_missing_plans(const std::string& file, const MissingPlans& missing, Report& report);

}  // namespace wallheat
