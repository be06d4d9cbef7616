#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/commands.hpp"
#include "cli/manual.hpp"
#include "cli/options.hpp"
#include "core/printable.hpp"
#include "core/version.hpp"
#include "io/print_error.hpp"
#include "io/process_setup.hpp"
#include "isolation/solver_process.hpp"
#include "mpi/mpi_link.hpp"
#include "node/local_machine.hpp"
#include "solve/gpu/device.hpp"
#include "view/output_file.hpp"
#include "view/spelling.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct Command {
  std::string_view name;
  std::string_view group;  // of the overview; those of one stand together
  std::string_view purpose;
  int (*function)(const Arguments&);
};

int completion_command(const Arguments& arguments);
int manual_command(const Arguments& arguments);

constexpr std::array commands{
    Command{"run", "run", "solve many floor plans into one HDF5 file, under mpirun or alone",
            run_command},
    Command{"solve", "run", "solve one floor plan, print its statistics, draw it", solve_command},
    Command{"generate", "run", "make synthetic floor plans", generate_command},
    Command{"whatif", "ask for other walls",
            "say what plans would be with walls of other temperatures", whatif_command},
    Command{"need", "ask for other walls",
            "say how warm walls must be so that rooms reach a temperature", need_command},
    Command{"summary", "look at results", "answer the questions that a data set is solved for",
            summary_command},
    Command{"list", "look at results", "list plans: filtered, sorted, as a table, CSV or JSON",
            list_command},
    Command{"rooms", "look at results", "list rooms: filtered, sorted, as a table, CSV or JSON",
            rooms_command},
    Command{"plot", "look at results",
            "draw stored temperature fields: one plan or a sheet of many", plot_command},
    Command{"export", "look at results", "write the results as the reference's CSV, or as JSON",
            export_command},
    Command{"report", "look at results", "make one HTML page of a run", report_command},
    Command{"compare", "look at results",
            "name what differs between results, and compare programs' times", compare_command},
    Command{"verify", "look at results", "check a result file against its floor plans",
            verify_command},
    Command{"status", "cluster", "look at a run from outside, or at what it left", status_command},
    Command{"queue", "cluster", "forecast how long jobs wait in a cluster's queue", queue_command},
    Command{"advise", "cluster",
            "say where to run a campaign: until when it is done, what it costs", advise_command},
    Command{"merge", "cluster", "gather the result files of a job array's shards into one",
            merge_command},
    Command{"repair", "cluster", "make a killed or damaged result file whole without a run",
            repair_command},
    Command{"scaling", "measure",
            "see what more workers bring: measured, or predicted from one run", scaling_command},
    Command{"bench", "measure", "measure the solver against what this machine could do at best",
            bench_command},
    Command{"devices", "measure", "show what this machine offers: cores, instruction sets, GPUs",
            devices_command},
    Command{"monitor", "measure",
            "show how busy this node's cpus and GPUs are, or what was recorded", monitor_command},
    Command{"offload", "measure", "say from how many operations on a transfer to a GPU pays",
            offload_command},
    Command{"trace", "more", "write what each thread did when, for Perfetto", trace_command},
    Command{"completion", "more", "complete commands and options in bash, zsh or fish",
            completion_command},
    Command{"manual", "more", "print a manual page for man", manual_command},
    Command{"solver-process", "", "",  // not for people
            [](const Arguments& arguments) { return solver_process_command(arguments); }},
};

/// All that are for people.
std::vector<CommandEntry> entries() {
  std::vector<CommandEntry> found;
  for (const Command& command : commands) {
    if (command.purpose.empty()) continue;
    CommandEntry entry{std::string(command.name), std::string(command.purpose), {}};
    Arguments describe;
    describe.describe = &entry.text;
    (void)command.function(describe);
    found.push_back(std::move(entry));
  }
  return found;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names{"help", "version"};
  for (const Command& command : commands) {
    if (!command.purpose.empty()) names.emplace_back(command.name);
  }
  return names;
}

std::string overview() {
  std::string text = "Usage: wallheat COMMAND [options]\n";
  std::string_view group;
  for (const Command& command : commands) {
    if (command.purpose.empty()) continue;
    if (std::exchange(group, command.group) != command.group)
      text += fmt::format("\n{}:\n", command.group);
    text += fmt::format("  {:<12}{}\n", command.name, command.purpose);
  }
  return folded_for(STDOUT_FILENO, text, 14) +
         folded_for(STDOUT_FILENO,
                    "\n'wallheat help COMMAND' lists a command's usual options and two examples, "
                    "'wallheat help "
                    "COMMAND --all' all options; 'wallheat version' prints the version.\n",
                    0);
}

/// Throws UsageError if there is no such command.
const Command& command_named(const std::string& name) {
  for (const Command& command : commands) {
    if (command.name == name) return command;
  }
  throw UsageError(fmt::format("there is no command '{}'{}", printable(name),
                               did_you_mean(name, command_names())));
}

int completion_command(const Arguments& arguments) {
  std::string shell;
  Options options("completion SHELL",
                  "Prints what completes wallheat's commands and options with the tab key.\n"
                  "bash: wallheat completion bash > ~/.local/share/bash-completion/completions/"
                  "wallheat\nzsh: wallheat completion zsh > _wallheat, in a directory of fpath\n"
                  "fish: wallheat completion fish > ~/.config/fish/completions/wallheat.fish",
                  {"wallheat completion bash", "wallheat completion zsh"});
  options.add("shell", value(shell, "NAME"), "bash, zsh or fish (also as an argument)");
  options.words("shell", {"bash", "zsh", "fish"});
  options.positional("shell", 1);
  options.require({"shell"});
  if (!options.parse(arguments)) return exit_done;
  const auto completion = choose<std::string (*)(const std::vector<CommandEntry>&)>(
      "shell", shell,
      {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}});
  fmt::print("{}", completion(entries()));
  return exit_done;
}

int manual_command(const Arguments& arguments) {
  std::string name;
  std::filesystem::path folder;
  Options options("manual [COMMAND]",
                  "Prints the manual page of a command, or of the program. To read it: wallheat "
                  "manual run | man -l -",
                  {"wallheat manual", "wallheat manual run"});
  options.add("command", value(name, "NAME"), "the command (also as an argument)");
  options.add("all", value(folder, "DIR"),
              "write all pages into this directory, for an installation; replaces them");
  options.words("command", command_names());
  options.positional("command", 1);
  if (!options.parse(arguments)) return exit_done;
  if (!name.empty()) (void)command_named(name);
  const auto all = entries();
  if (!folder.empty()) {
    const auto write_page = [&](const std::string& of, const std::string& page) {
      require_replaceable(folder / (of + ".1"), true, page.substr(0, page.find(' ')));
      write_output(folder / (of + ".1"), page);
    };
    write_page("wallheat", manual_page(all));
    for (const CommandEntry& entry : all) write_page("wallheat-" + entry.name, manual_page(entry));
    return exit_done;
  }
  if (name.empty()) fmt::print("{}", manual_page(all));
  for (const CommandEntry& entry : all)
    if (entry.name == name) fmt::print("{}", manual_page(entry));
  return exit_done;
}

bool is_any_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

int run_one(const std::string& name, Arguments arguments) {
  if (is_any_of(name, {"help", "--help", "-h"})) {
    if (arguments.empty()) {
      fmt::print("{}", overview());
      return exit_done;
    }
    const std::string& topic = arguments.front();
    if (is_any_of(topic, {"help", "version"})) return run_one("help", {});
    const Command& command = command_named(topic);
    if (command.purpose.empty()) return run_one("help", {});
    Arguments help{"--help"};
    help.all_options = arguments.size() > 1 && arguments[1] == "--all";
    if (arguments.size() > (help.all_options ? 2U : 1U))
      throw UsageError(fmt::format("help takes a command and maybe --all, not '{}'",
                                   printable(arguments.back())));
    return command.function(help);
  }
  if (is_any_of(name, {"version", "--version"})) {
    fmt::print("wallheat {}\n", version());
    return exit_done;
  }
  if (name.empty()) throw UsageError("no command given");
  return command_named(name).function(arguments);
}

}  // namespace

int app_main(const Arguments& arguments) {
  keep_heap_in_huge_pages();
  leave_out_topology_plugins();
  use_all_gpu_queues();
  prepare_standard_streams();
  survive_size_limit();
  raise_file_limit();
  const std::string name = arguments.empty() ? "" : arguments.front();
  try {
    const int status =
        run_one(name, {arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end()});
    flush_stdout();
    return status;
  } catch (const UsageError& error) {
    // Under mpirun every rank finds the same mistake: rank 0 says so, and the others leave quietly,
    // as mpirun would end rank 0 before it has spoken if one of them failed.
    if (name == "run" && launched_rank() != 0) return exit_done;
    const bool known = std::any_of(commands.begin(), commands.end(),
                                   [&](const Command& command) { return command.name == name; });
    const std::string sentence = printable_message(error.what());
    print_error("wallheat: {}{} see 'wallheat help{}'", sentence,
                sentence.ends_with('?') ? "" : ";", known ? " " + name : "");
    return exit_usage;
  } catch (const std::exception& error) {
    if (stdout_failed()) end_if_stdout_was_left();
    // fmt's own sentence does not say which file could not be written.
    print_error("wallheat: {}", stdout_failed() ? of_stdout : printable_message(error.what()));
    return exit_failed;
  }
}

}  // namespace wallheat
