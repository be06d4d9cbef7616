#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "store/repair.hpp"
#include "view/run_status.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

Table list_of(const char* key, const char* column, const char* name,
              const std::vector<std::string>& lines) {
  Table table{key, "", {{column, name}}};
  table.most_shown = 20;
  for (const std::string& line : lines) table.rows.push_back({line});
  return table;
}

}  // namespace

Report repair_command(Options& options) {
  std::string file;
  options.describe(
      "FILE [options]",
      "Makes the result file of a killed run whole without a run: folds its log in, "
      "compares every row and field with its checksum, and leaves one plain HDF5 file. "
      "What is damaged is taken from the log where it still is; else its plan becomes "
      "pending. A file that needs nothing is left as it is.\nExit status: 0 whole, 1 "
      "it cannot be done, 2 wrong usage, 75 whole with plans pending.",
      {"wallheat repair results.h5", "wallheat repair results.h5 --json"});
  declare_result_file(options, file);
  options.parse();

  require_result_file(file);
  const RepairReport repaired = repair_results(file);
  remove_run_status(status_file(file));  // of the run that died

  const auto& [changed, sentences, lost, done, failed, pending] = repaired;
  Report report{std::filesystem::path(file).filename().string()};
  report.add(Fact{"file", "", file});
  report.add(Fact{"changed", "", changed});
  report.add(list_of("findings", "finding", "found and repaired", sentences));
  report.add(list_of("lost", "id", "lost", lost));
  report.add(Note{fmt::format("{} {}: {} done, {} failed, {} pending", file,
                              changed ? "is whole" : "needed nothing", done, failed, pending)});
  report.add(Fact{"done", "", done});
  report.add(Fact{"failed", "", failed});
  report.add(Fact{"pending", "", pending});
  report.exit_status = pending > 0 ? exit_work_left : exit_done;
  return report;
}

}  // namespace wallheat
