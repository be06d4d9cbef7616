#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "io/process_setup.hpp"
#include "view/file_status.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace fs = std::filesystem;

namespace wallheat {
namespace {

/// Returns the exit status of the last look.
int watch_file(const fs::path& file, std::chrono::duration<double> interval) {
  const bool in_place = terminal_columns(STDOUT_FILENO).has_value();
  for (;;) {
    const FileStatus status = status_of(file);
    if (in_place) {
      fmt::print("\x1b[H\x1b[2J");  // to the upper left corner, and all empty
      print_text(status);
    } else {
      print_line(status);
    }
    flush_stdout();
    if (status.state != RunState::being_written) return status.exit_status();
    std::this_thread::sleep_for(interval);
  }
}

}  // namespace

int status_command(const Arguments& arguments) {
  fs::path file;
  bool json = false;
  bool watch = false;
  double interval_s = 0;
  Options options(
      "status FILE [options]",
      "Looks at a result file from outside, whether its run lives, has ended or was killed, "
      "without changing anything.\nExit status: 0 finished, 3 finished but some plans failed, 75 "
      "work left (also while it is being written), 1 the file cannot be read, 2 wrong usage.");
  options.add("file", value(file, "FILE"), "the result file (also as an argument)");
  options.add("json", flag(json), "print one JSON object");
  options.add("watch,w", flag(watch),
              "look again and again until nobody writes the file: in place on a terminal, a line "
              "each time elsewhere");
  options.add("interval", value(interval_s, "SECONDS", 2), "between two looks of --watch");
  options.positional("file", 1);
  options.require({"file"});
  if (!options.parse(arguments)) return exit_done;

  if (watch && json) throw UsageError("give either --watch or --json");
  if (!(interval_s >= 0.01 && interval_s <= 86400))
    throw UsageError("--interval must be from 0.01 to 86400 seconds");
  if (watch) return watch_file(file, std::chrono::duration<double>(interval_s));
  const FileStatus status = status_of(file);
  if (json) {
    print_json(status);
  } else {
    print_text(status);
  }
  return status.exit_status();
}

}  // namespace wallheat
