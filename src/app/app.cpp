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
    Command{"solve", "solve one floor plan, print its statistics, draw it", solve_command},
    Command{"generate", "make synthetic floor plans", generate_command},
    Command{"devices", "show what this machine offers: cores, instruction sets, GPUs", devices_command},
};

std::string overview() {
  std::string text = "Usage: wallheat COMMAND [options]\n\nCommands:\n";
  for (const Command& command : commands) text += fmt::format("  {:<10}{}\n", command.name, command.purpose);
  return text + "\n'wallheat COMMAND --help' lists a command's options; 'wallheat --version' the version.\n";
}

/// Under mpirun every rank finds the same mistake; one of them says so.
void complain(const std::string& sentence) {
  if (launched_rank() == 0) fmt::print(stderr, "wallheat: {}\n", sentence);
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
      if (command.name == name) return command.function({arguments.begin() + 1, arguments.end()});
    }
    complain(name.empty() ? "no command given" : fmt::format("there is no command '{}'", name));
    if (launched_rank() == 0) fmt::print(stderr, "{}", overview());
    return exit_usage;
  } catch (const UsageError& error) {
    complain(fmt::format("{}; see 'wallheat {} --help'", error.what(), name));
    return exit_usage;
  } catch (const std::exception& error) {
    complain(error.what());
    return exit_failed;
  }
}

}  // namespace wallheat
