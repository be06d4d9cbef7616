#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "core/printable.hpp"
#include "store/repair.hpp"
#include "view/json.hpp"
#include "view/run_status.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

void print_repair_json(const std::string& file, const RepairReport& report) {
  const Json json{{"file", file},
                  {"changed", report.changed},
                  {"done", report.done},
                  {"failed", report.failed},
                  {"pending", report.pending},
                  {"findings", report.sentences},
                  {"lost", report.lost}};
  fmt::print("{}", json_text(json));
}

void print_repair_for_people(const std::string& file, const RepairReport& report) {
  for (const std::string& sentence : report.sentences) fmt::print("{}\n", printable(sentence));
  for (const std::string& id : report.lost) fmt::print("lost: {}\n", printable(id));
  fmt::print("{} {}: {} done, {} failed, {} pending\n", printable(file),
             report.changed ? "is whole" : "needed nothing", report.done, report.failed,
             report.pending);
}

}  // namespace

int repair_command(Options& options) {
  std::string file;
  bool json = false;
  options.describe(
      "FILE [options]",
      "Makes the result file of a killed run whole without a run: folds its log in, "
      "compares every row and field with its checksum, and leaves one plain HDF5 file. "
      "What is damaged is taken from the log where it still is; else its plan becomes "
      "pending. A file that needs nothing is left as it is.\nExit status: 0 whole, 1 "
      "it cannot be done, 2 wrong usage, 75 whole with plans pending.",
      {"wallheat repair results.h5", "wallheat repair results.h5 --json"});
  declare_result_file(options, file);
  options.add("json", flag(json), "print what was found as one JSON object");
  options.parse();

  require_result_file(file);
  const RepairReport report = repair_results(file);
  if (json) {
    print_repair_json(file, report);
  } else {
    print_repair_for_people(file, report);
  }
  remove_run_status(status_file(file));  // of the run that died
  return report.pending > 0 ? exit_work_left : exit_done;
}

}  // namespace wallheat
