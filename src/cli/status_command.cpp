#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "cli/commands.hpp"
#include "cli/result_file.hpp"
#include "report/status_report.hpp"
#include "view/output_file.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using WatchClock = std::chrono::steady_clock;

/// State of --watch.
struct StatusWatch {
  std::function<FileStatus()> read_status;
  double interval_s;
  WatchClock::time_point began = WatchClock::now();
  ProgressHistory history = {};
};

/// Returns the status at this moment. While a process writes one of the files, the report is
/// followed by a next one.
Report watch_status(const std::shared_ptr<StatusWatch>& watch) {
  const FileStatus status = watch->read_status();
  const std::chrono::duration<double> elapsed = WatchClock::now() - watch->began;
  watch->history.add(elapsed.count(), status.plans);
  Report page = watch->history.page(status);
  Report report = make_report(status);
  report.title = page.title;
  if (terminal_columns(STDOUT_FILENO))
    fmt::print("\x1b[H\x1b[2J");  // moves to the upper left corner and clears the screen
  else
    report.elements = {Note{one_line_text(status)}};
  if (status.state() == RunState::being_written) {
    page.reload_s = watch->interval_s;
    report.next = [watch] {
      std::this_thread::sleep_for(std::chrono::duration<double>(watch->interval_s));
      return watch_status(watch);
    };
  } else {
    page.add_note(fmt::format(
        "At {}, no process was writing these results. This page is not updated any more.",
        utc_now()));
  }
  report.for_page = [page = std::move(page)] { return page; };
  return report;
}

}  // namespace

Report status_command(Options& options) {
  std::vector<std::string> names;
  bool watches = false;
  bool word = false;
  bool session = false;
  bool why = false;
  double interval_s = 0;
  std::filesystem::path metrics;
  options.describe(
      "FILE ... [options]",
      "Shows whether the run of a result file is in progress, has ended or was killed, and its "
      "progress. Changes nothing. If FILE does not exist, shows all shard files that belong to "
      "it.\nExit status: 0 finished, 3 finished but some plans failed, 75 incomplete (also while "
      "the run is in progress), 1 the file cannot be read, 2 usage error.",
      {"wallheat status results.h5 --json",
       "wallheat status results.h5 --watch --page live.html --metrics wallheat.prom"});
  options.add("file", file(names, FileRole::results_in_use).positional().required(),
              "result file, or shard files (also as arguments)");
  options.add("print-state", flag(word),
              "print one word: running, done, failed (some plans failed), left (plans are pending) "
              "or killed");
  options.add("session-exit-status", flag(session),
              "exit with the status that the last run of FILE recorded; if it recorded none, with "
              "75 if it solved plans, otherwise with 1; a run that was rejected does not count if "
              "FILE is finished");
  options.add("why", flag(why), "show why plans are waiting, have failed or were retried");
  options.add("watch,w", flag(watches),
              "update the output until the run ends: in place on a terminal, otherwise one line "
              "per update. --page is updated, too, and reloads itself in a browser");
  options.add("interval", value(interval_s, "SECONDS", 2).within(0.01, 86400),
              "time between two updates of --watch");
  options.add("metrics", output_file(metrics, prometheus_magic),
              "write counts of plans, state, workers and memory in the text format of Prometheus, "
              "for the textfile collector of node_exporter (FILE must end with .prom there); with "
              "--watch, replace FILE at each update");
  options.add_conflict("watch",
                       {"why", "print-state", "session-exit-status", "json", "format", "out"});
  options.add_conflict("why", {"print-state", "session-exit-status"});
  options.add_conflict("print-state", {"session-exit-status"});
  options.parse();
  if (session && names.size() > 1)
    throw UsageError("--session-exit-status requires exactly one file");
  const std::vector<std::filesystem::path> files(names.begin(), names.end());
  for (const std::filesystem::path& file : files) require_result_file(file);
  const auto read_status = [files, metrics] {
    FileStatus status = status_of(files);
    if (!metrics.empty()) write_output(metrics, prometheus_text(status));
    return status;
  };
  if (watches)
    return watch_status(std::make_shared<StatusWatch>(StatusWatch{read_status, interval_s}));
  const FileStatus status = read_status();
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
