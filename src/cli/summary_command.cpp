#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "cli/result_file.hpp"
#include "plans/plan_source.hpp"
#include "report/summary.hpp"
#include "report/summary_page.hpp"
#include "report/thresholds.hpp"

namespace wallheat {

Report summary_command(Options& options) {
  std::string file;
  std::string where;
  std::size_t bins = 0;
  std::filesystem::path data;
  Thresholds asked;
  double cell_metres = 0;
  options.describe("FILE [options]", "Answers the questions that a data set is solved for.",
                   {"wallheat summary results.h5", "wallheat summary results.h5 --page run.html"});
  declare_result_file(options, file);
  declare_where(options, where);
  declare_thresholds(options, asked);
  declare_cell_size(options, cell_metres);
  options.add(
      "data,d", wallheat::file(data, FileRole::plans, "PLANS"),
      "the floor plans, for other thresholds than the file's: its stored fields are counted "
      "again within the plans' rooms (default: where the run found them)");
  options.add("bins", value(bins, "N", 16).at_least(2),
              "of the histogram, at most; they are 1, 2 or 5 times a power of ten wide");
  options.parse();

  const auto reader = std::make_shared<const ResultReader>(open_result_file(file));
  const Thresholds recorded = recorded_thresholds(*reader);
  const Thresholds thresholds{options.was_given("above") ? asked.above : recorded.above,
                              options.was_given("below") ? asked.below : recorded.below};
  const Rows counted =
      thresholds == recorded
          ? rows_of(*reader)
          : counted_again(*reader, *open_plan_source(data.empty() ? plans_of(file, *reader) : data),
                          thresholds);
  const Rows rows = rows_where(where, counted);
  Summary summary = summary_of(rows, thresholds, reader.get());
  if (summary.plans == 0 && !where.empty()) refuse_empty(file, where, reader->count());
  summary.histogram = histogram_of(summary.means, bins);
  const WallTime wall = wall_time(reader->sessions());
  // The sessions' time is that of all plans.
  Report report = report_of(summary, where.empty() ? &wall : nullptr, reader.get(), cell_metres);
  report.title = std::filesystem::path(file).filename().string();
  report.add(histogram_figure(summary, report.title));
  report.for_page = [report, reader, file, rows, thresholds, is_all = where.empty()] {
    return page_of(report, {file, *reader, rows, thresholds, is_all});
  };
  return report;
}

}  // namespace wallheat
