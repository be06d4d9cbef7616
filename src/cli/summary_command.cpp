#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "cli/result_file.hpp"
#include "plans/plan_source.hpp"
#include "report/histogram.hpp"
#include "report/summary.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

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
  if (!options.was_given("cell-size")) cell_metres = cell_size_of_runs(*reader);
  const Thresholds recorded = recorded_thresholds(file, reader->settings());
  const Thresholds thresholds{options.was_given("above") ? asked.above : recorded.above,
                              options.was_given("below") ? asked.below : recorded.below};
  const auto open_plans = [&] {
    return open_plan_source(data.empty() ? recorded_plans(file, *reader) : data);
  };
  const Rows counted =
      thresholds == recorded
          ? rows_of(*reader)
          : recount_cells(*reader, *open_plans(), thresholds,
                          reader->has_rooms() ? recorded_solver(file, reader->settings()).door
                                              : std::nullopt);
  const MissingPlans missing = describe_missing_plans(*reader, open_plans);
  Report report = summary_report({file, reader, rows_where(where, counted), thresholds, where,
                                  cell_metres, bins, min_cells, missing});
  if (value_of(report, "plans") == Value(0) && !where.empty())
    throw_no_match(file, where, reader->count());
  if (complete) require_no_missing_plans(file, missing, report);
  return report;
}

}  // namespace wallheat
