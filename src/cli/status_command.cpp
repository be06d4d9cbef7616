#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "cli/commands.hpp"
#include "cli/result_file.hpp"
#include "io/standard_streams.hpp"
#include "report/status_report.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Prints the status repeatedly while a process writes one of the files. Returns the last status
/// without printing it.
Report watch_status(const std::vector<std::filesystem::path>& files, double interval_s) {
  const auto columns = terminal_columns(STDOUT_FILENO);
  for (;;) {
    const FileStatus status = status_of(files);
    Report report = make_report(status);
    if (!columns) report.elements = {Note{one_line_text(status)}};
    // Moves to the upper left corner and clears the screen.
    if (columns) fmt::print("\x1b[H\x1b[2J");
    if (status.state() != RunState::being_written) return report;
    write_text(report, std::cout, columns);
    std::cout.flush();
    flush_stdout();
    std::this_thread::sleep_for(std::chrono::duration<double>(interval_s));
  }
}

}  // namespace

Report status_command(Options& options) {
  std::vector<std::string> names;
  bool watches = false;
  bool word = false;
  bool session = false;
  bool why = false;
  double interval_s = 0;
  options.describe(
      "FILE ... [options]",
      "Shows whether the run of a result file is in progress, has ended or was killed, and its "
      "progress. Changes nothing. If FILE does not exist, shows all shard files that belong to "
      "it.\nExit status: 0 finished, 3 finished but some plans failed, 75 incomplete (also while "
      "the run is in progress), 1 the file cannot be read, 2 usage error.",
      {"wallheat status results.h5", "wallheat status results.h5 --json"});
  options.add("file", file(names, FileRole::results_in_use).positional().required(),
              "result file, or shard files (also as arguments)");
  options.add("print-state", flag(word),
              "print one word: running, done, failed (some plans failed), left (plans are pending) "
              "or killed");
  options.add("session-exit-status", flag(session),
              "exit with the status that the last run of FILE recorded; if it recorded none, with "
              "75 if it solved plans, otherwise with 1");
  options.add("why", flag(why), "show why plans are waiting, have failed or were retried");
  options.add("watch,w", flag(watches),
              "update the output until the run ends: in place on a terminal, otherwise one line "
              "per update");
  options.add("interval", value(interval_s, "SECONDS", 2).within(0.01, 86400),
              "time between two updates of --watch");
  options.add_conflict(
      "watch", {"why", "print-state", "session-exit-status", "json", "format", "out", "page"});
  options.add_conflict("why", {"print-state", "session-exit-status"});
  options.add_conflict("print-state", {"session-exit-status"});
  options.parse();
  if (session && names.size() > 1)
    throw UsageError("--session-exit-status requires exactly one file");
  const std::vector<std::filesystem::path> files(names.begin(), names.end());
  for (const std::filesystem::path& file : files) require_result_file(file);
  if (watches) return watch_status(files, interval_s);
  const FileStatus status = status_of(files);
  if (word)
    return {.elements = {Note{std::string(status.state_word())}},
            .exit_status = status.exit_status()};
  if (session) {
    const ShardFileStatus& part = status.parts.front();
    return {.elements = {Note{part.session_text()}}, .exit_status = part.session_exit_status()};
  }
  return make_report(status, why);
}

}  // namespace wallheat
