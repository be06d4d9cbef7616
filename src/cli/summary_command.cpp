#include <fmt/format.h>

#include <filesystem>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/picture_file.hpp"
#include "cli/question_options.hpp"
#include "cli/result_file.hpp"
#include "plans/plan_source.hpp"
#include "report/summary.hpp"
#include "report/thresholds.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

int summary_command(const Arguments& arguments) {
  std::string file;
  std::string where;
  PictureFile picture;
  int bins = 0;
  bool json = false;
  std::filesystem::path data;
  QuestionOptions questions;
  CellSizeOption cell_size;
  Options options(
      "summary FILE [options]", "Answers the questions that a data set is solved for.",
      {"wallheat summary results.h5", "wallheat summary results.h5 --where 'mean_temp > 10'"});
  declare_result_file(options, file);
  declare_where(options, where);
  picture.declare(options, "plot",
                  "draw the histogram of the means as PNG, SVG or PDF, by the file's ending");
  options.add("bins", value(bins, "N"),
              "of the histogram; default: bins of 1 °C, or narrower ones");
  questions.declare_thresholds(options);
  cell_size.declare(options);
  options.add(
      "data,d", value(data, "PLANS"),
      "the floor plans, for other thresholds than the file's: its stored fields are counted "
      "again within the plans' rooms (default: where the run found them)");
  options.add("json", flag(json), "print one JSON object");
  if (!options.parse(arguments)) return exit_done;
  if (options.was_given("bins") && bins < 1) throw UsageError("--bins must be at least 1");
  CommandFiles files;
  files.reads_store("FILE", file);
  if (!data.empty()) files.reads_plans("--data", data);
  picture.check(files);

  const ResultReader reader = open_result_file(file);
  const Thresholds recorded = recorded_thresholds(reader);
  const Thresholds thresholds = questions.thresholds(recorded);
  const Rows counted =
      thresholds == recorded
          ? rows_of(reader)
          : counted_again(reader, *open_plan_source(data.empty() ? plans_of(file, reader) : data),
                          thresholds);
  std::size_t plans = 0;
  const Rows all = [&](const auto& take) {
    counted([&](const PlanResult& row) {
      ++plans;
      take(row);
    });
  };
  const Summary summary = summary_of(reader, rows_where(where, all), thresholds);
  const double metres = cell_size.metres();
  if (summary.plans == 0 && !where.empty()) refuse_empty(file, where, plans);
  const WallTime wall = wall_time(reader.sessions());
  // The sessions' time is that of all plans.
  const WallTime* const of_all = where.empty() ? &wall : nullptr;
  picture.write([&] {
    return histogram_plot(summary, std::filesystem::path(file).filename().string(),
                          static_cast<std::size_t>(bins));
  });
  if (json) {
    fmt::print("{}", json_text(to_json(summary, of_all, reader.closed_well(), metres)));
  } else {
    print_summary(summary, of_all, reader.closed_well(), metres);
    if (picture.wanted())
      fmt::print("\npicture                      {}\n", picture.path().string());
  }
  return exit_done;
}

}  // namespace wallheat
