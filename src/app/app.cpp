#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "app/commands.hpp"
#include "app/version.hpp"
#include "link/mpi_link.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct Command {
  std::string_view name;
  std::string_view purpose;
  int (*function)(const Arguments&);
};

constexpr std::array commands{
    Command{"run", "solve many floor plans into one HDF5 file, under mpirun or alone", run_command},
    Command{"export", "write the results as the reference's CSV, or as JSON", export_command},
    Command{"summary", "answer the questions that a data set is solved for", summary_command},
    Command{"status", "look at a run from outside, or at what it left", status_command},
    Command{"merge", "gather the result files of a job array's shards into one", merge_command},
    Command{"repair", "make a killed or damaged result file whole without a run", repair_command},
    Command{"verify", "check a result file against its floor plans", verify_command},
    Command{"solve", "solve one floor plan, print its statistics, draw it", solve_command},
    Command{"generate", "make synthetic floor plans", generate_command},
    Command{"pack", "put a directory of floor plans into one small file", pack_command},
    Command{"devices", "show what this machine offers: cores, instruction sets, GPUs",
            devices_command},
    Command{"bench", "measure the solver against what this machine could do at best",
            bench_command},
    Command{"solver-process", "", solver_process_command},  // not for people
};

std::string overview() {
  std::string text = "Usage: wallheat COMMAND [options]\n\nCommands:\n";
  for (const Command& command : commands) {
    if (!command.purpose.empty())
      text += fmt::format("  {:<10}{}\n", command.name, command.purpose);
  }
  return text +
         "\n'wallheat COMMAND --help' lists a command's options; 'wallheat --version' the "
         "version.\n";
}

/// Says what is wrong with the command line. In a run under mpirun every rank finds the same
/// mistake: rank 0 says so, and the others leave quietly, as mpirun would end rank 0 before it has
/// spoken if one of them failed.
int complain(const std::string& command, const std::string& sentence, const std::string& help) {
  if (command == "run" && launched_rank() != 0) return exit_done;
  fmt::print(stderr, "wallheat: {}{}", sentence, help);
  return exit_usage;
}

/// A full disk behind stdout must not look like success.
void check_stdout() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw RunError("the output cannot be written to stdout");
}

}  // namespace

int app_main(const Arguments& arguments) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    fmt::print("{}", overview());
    return exit_done;
  }
  if (name == "--version") {
    fmt::print("wallheat {}\n", version());
    return exit_done;
  }
  try {
    for (const Command& command : commands) {
      if (command.name != name) continue;
      const int status = command.function({arguments.begin() + 1, arguments.end()});
      check_stdout();
      return status;
    }
    return complain(
        name, name.empty() ? "no command given" : fmt::format("there is no command '{}'", name),
        "\n" + overview());
  } catch (const UsageError& error) {
    return complain(name, error.what(), fmt::format("; see 'wallheat {} --help'\n", name));
  } catch (const std::exception& error) {
    fmt::print(stderr, "wallheat: {}\n", error.what());
    return exit_failed;
  }
}

}  // namespace wallheat
