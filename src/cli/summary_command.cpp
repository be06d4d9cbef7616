#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "cli/result_file.hpp"
#include "core/cell_statistics.hpp"
#include "core/threads.hpp"
#include "node/placement.hpp"
#include "plans/plan_source.hpp"
#include "report/histogram.hpp"
#include "report/summary.hpp"
#include "run/work_estimator.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Number of the plans of a file without a result, which averages do not include.
struct IncompleteWarning {
  std::size_t plans = 0, missing = 0;
  /// Predicted work of the missing plans, in % of all plans, and the median of their interior cells
  /// divided by that of the others. nullopt if they are unknown.
  std::optional<double> work_pct{}, size_ratio{};

  /// Returns a description of the missing plans; empty if none or all are missing.
  [[nodiscard]] std::string text() const {
    if (missing == 0 || missing == plans) return "";
    const std::string count = missing == 1
                                  ? "1 plan of the file has no result"
                                  : fmt::format("{} plans of the file have no result", missing);
    if (!work_pct)
      return count + ": their sizes are unknown without their masks (use --data PLANS)";
    return fmt::format(
        "{}: {:.3g} % of the predicted work, with a median size {:.2g} times as large", count,
        *work_pct, *size_ratio);
  }
};

/// Work and size of plans, from the masks of up to a thousand plans.
struct Weight {
  double mean_updates = 0;
  double median_cells = 0;
};

/// Returns the weight of the `count` plans with or without a result. Throws RunError if no mask can
/// be read, or if the median has no cells.
Weight weight_of(const ResultReader& reader, bool answered, std::size_t count,
                 const PlanSource& source, const SolverOptions& solver) {
  constexpr std::size_t enough = 1000;
  const std::size_t step = (count + enough - 1) / enough;
  std::vector<std::string> ids;
  std::size_t seen = 0;
  reader.for_each_row([&](const PlanResult& row) {
    if (is_solved(row.status) == answered && seen++ % step == 0) ids.push_back(row.id);
  });
  std::vector<std::optional<WorkEstimate>> estimates(ids.size());
  parallel_for(default_thread_count(), ids.size(), [&] {
    return [&](std::size_t i) {
      estimates[i] = estimate_plan(source, ids[i], solver.limits, solver.kind);
    };
  });
  std::erase(estimates, std::nullopt);
  Weight weight;
  std::vector<double> cells;
  for (const auto& estimate : estimates) {
    weight.mean_updates += estimate->updates / static_cast<double>(estimates.size());
    cells.push_back(static_cast<double>(estimate->interior_cells));
  }
  weight.median_cells = median(std::move(cells));
  if (!(weight.median_cells > 0))
    throw RunError(fmt::format("cannot estimate the missing plans: no mask of {} can be read",
                               source.path().string()));
  return weight;
}

/// Sets the values that follow from the plans, of which some have a result and some do not. Throws
/// RunError.
void estimate_missing_share(IncompleteWarning& left, const ResultReader& reader,
                            const std::filesystem::path& data) {
  const SharedPlanSource source = open_plan_source(data);
  const SolverOptions solver = recorded_solver("the result file", reader.settings());
  const std::size_t others = left.plans - left.missing;
  const Weight of_missing = weight_of(reader, false, left.missing, *source, solver);
  const Weight of_others = weight_of(reader, true, others, *source, solver);
  const double work = static_cast<double>(left.missing) * of_missing.mean_updates;
  left.work_pct = 100 * work / (work + static_cast<double>(others) * of_others.mean_updates);
  left.size_ratio = of_missing.median_cells / of_others.median_cells;
}

/// Returns the warning for a file. `data` is the plan source; empty: the plan source of the run, if
/// it still exists.
IncompleteWarning left_out_of(const std::string& file, const ResultReader& reader,
                              std::size_t missing, const std::filesystem::path& data) {
  IncompleteWarning left{reader.count(), missing};
  if (left.missing == 0 || left.missing == left.plans) return left;
  try {
    estimate_missing_share(left, reader, data.empty() ? recorded_plans(file, reader) : data);
  } catch (const RunError&) {
    // The averages are valid without it, and text() reports that the sizes are unknown.
  }
  return left;
}

}  // namespace

Report summary_command(Options& options) {
  std::string file;
  std::string where;
  std::size_t bins = 0;
  std::filesystem::path data;
  Thresholds asked;
  double cell_metres = 0;
  std::size_t min_cells = 1;
  bool complete = false;
  options.describe("FILE [options]",
                   "Prints averages, threshold counts, and slow and failed plans.\nExit status: 0 "
                   "success, 1 error, 2 usage error; with --require-complete 75 if plans are "
                   "pending, otherwise 3 if plans failed.",
                   {"wallheat summary results.h5", "wallheat summary results.h5 --page run.html"});
  declare_result_file(options, file);
  declare_where(options, where);
  declare_thresholds(options, asked);
  declare_cell_size(options, cell_metres);
  declare_min_cells(options, min_cells);
  options.add("data,d", wallheat::file(data, FileRole::plans, "PLANS"),
              "floor plans, to recount the cells of stored fields for --above and --below, and to "
              "estimate the sizes of missing plans (default: the plans of the run)");
  options.add("require-complete", flag(complete),
              "exit with status 75 or 3 if plans have no result");
  options.add("bins", value(bins, "N", 16).at_least(2), "maximum number of bars in the histogram");
  options.parse();

  const auto reader = std::make_shared<const ResultReader>(open_result_file(file));
  const Thresholds recorded = recorded_thresholds(file, reader->settings());
  const Thresholds thresholds{options.was_given("above") ? asked.above : recorded.above,
                              options.was_given("below") ? asked.below : recorded.below};
  const Rows counted =
      thresholds == recorded
          ? rows_of(*reader)
          : recount_cells(*reader,
                          *open_plan_source(data.empty() ? recorded_plans(file, *reader) : data),
                          thresholds,
                          reader->has_rooms() ? recorded_solver(file, reader->settings()).door
                                              : std::nullopt);
  const PlanCounts counts = counts_of(*reader);
  const IncompleteWarning left = left_out_of(file, *reader, counts.failed + counts.pending, data);
  Report report = summary_report({file,
                                  reader,
                                  rows_where(where, counted),
                                  thresholds,
                                  where,
                                  cell_metres,
                                  bins,
                                  min_cells,
                                  left.text(),
                                  {{"missing", "", left.missing},
                                   {"missing_work_pct", "", left.work_pct},
                                   {"missing_size_ratio", "", left.size_ratio}}});
  if (value_of(report, "plans") == Value(0) && !where.empty())
    throw_no_match(file, where, reader->count());
  if (complete && left.missing > 0) {
    const std::string text = left.text();
    report.error =
        fmt::format("{} contains results of {} of {} plans{}", file, left.plans - left.missing,
                    left.plans, text.empty() ? "" : "; " + text);
    report.exit_status = exit_status_of(counts.pending, counts.failed);
  }
  return report;
}

}  // namespace wallheat
