#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <tuple>

#include "cli/commands.hpp"
#include "core/program.hpp"
#include "core/system_limits.hpp"
#include "core/text.hpp"
#include "io/process_setup.hpp"
#include "io/standard_streams.hpp"
#include "isolation/solver_process.hpp"
#include "mpi/mpi_environment.hpp"
#include "node/local_machine.hpp"
#include "report/gnuplot.hpp"
#include "run/build_info.hpp"
#include "solve/gpu/device.hpp"
#include "view/output_file.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Use of --out by a command that returns a report.
enum class OutMode {
  text,     ///< the text output, which would otherwise be printed
  picture,  ///< the picture of the report, which is the only output of the command
  custom    ///< specific to the command
};

/// Destination and format of a report: the options that all commands share that return a report.
class Output {
 public:
  /// Declares --json; --format, --out and --page if --out is for the text output; --plot (or
  /// --out), --size and --dpi if `figure`, the description of the picture, is not null; and --title
  /// of page and picture. This object must live as long as the options.
  Output(Options& options, OutMode out, const char* figure);
  /// Writes the report and those that follow it, with the title of --title if that was given, and
  /// leaves the last one in `report`. Throws RunError, and UsageError if the report has nothing in
  /// the requested format.
  void put(Report& report) const;

 private:
  enum class Form { text, json, csv, csv_semicolon };
  void declare_picture(Options& options, const std::string& option, const std::string& figure);
  void write(const Report& report, std::ostream& out, bool is_stdout) const;

  bool json_ = false;
  Form form_ = Form::text;
  std::filesystem::path out_;
  std::filesystem::path page_;
  std::filesystem::path picture_;
  std::string author_, date_;
  PictureStyle style_;
};

Output::Output(Options& options, OutMode out, const char* figure) {
  options.heading(Options::output_heading);
  options.add("json", flag(json_), "print one JSON object");
  if (out == OutMode::text) {
    options.add("format,f",
                choice(form_, "NAME", "text",
                       {{"text", Form::text},
                        {"json", Form::json},
                        {"csv", Form::csv},
                        {"csv-semicolon", Form::csv_semicolon}}),
                "text, json, csv (the main table, or one row of values if there is none; for "
                "pandas and spreadsheets), or csv-semicolon "
                "(the same with semicolons, decimal commas and rounded numbers, for spreadsheets "
                "whose decimal mark is a comma)");
    options.add("out,o", file(out_, FileRole::replaced_text),
                "write the output to FILE instead of stdout");
    options.add("page", file(page_, FileRole::page),
                "also write the report to FILE (.html or .htm) as one HTML page, which needs no "
                "network");
    options.add("author", value(author_, "TEXT"), "author, below the title of the page");
    options.add("date", value(date_, "TEXT"), "date, below the title of the page, in any form");
    options.add_dependency("page", {"author", "date"});
  }
  if (figure != nullptr) declare_picture(options, out == OutMode::picture ? "out" : "plot", figure);
  if (figure != nullptr || out == OutMode::text) {
    const auto set_title = [this](const std::string&, const std::string& text) {
      style_.title = text;
    };
    const std::string_view of = figure == nullptr      ? "page"
                                : out == OutMode::text ? "page and the picture"
                                                       : "picture";
    options.add("title", {set_title, "TEXT"},
                fmt::format("title of the {} (default: chosen by the command); '' for none", of));
  }
  options.heading("Options");
}

void Output::declare_picture(Options& options, const std::string& option,
                             const std::string& figure) {
  OptionValue picture = file(picture_, FileRole::replaced_picture);
  picture.is_required = option == "out";
  options.add(
      picture.is_required ? "out,o" : option, picture,
      fmt::format("draw {} to FILE; its suffix determines the format: PNG, SVG or PDF", figure));
  constexpr int min = 64;
  constexpr int max = 20000;
  const auto set_size = [this](const std::string& text) {
    const auto size = parse_pair<int>('x', text);
    if (size) std::tie(style_.width, style_.height) = *size;
    return size && std::min(size->first, size->second) >= min &&
           std::max(size->first, size->second) <= max;
  };
  options.add(
      "size",
      custom_value("WxH", fmt::format("WIDTHxHEIGHT, each {} to {} pixels", min, max), set_size),
      "size of the picture in pixels, such as 1200x800");
  options.add(
      "dpi", value(style_.dpi, "N", default_dpi).within(24, 1200),
      "resolution of a PNG in dots per inch; 300 also makes text and lines 300/96 times as large");
  options.check([this, option] {
    if (!picture_.empty() && style_.dpi != default_dpi &&
        plot_format(option, picture_) != PlotFormat::png)
      throw UsageError("--dpi requires a PNG file; SVG and PDF have no resolution");
  });
}

void Output::write(const Report& report, std::ostream& out, bool is_stdout) const {
  const std::string ending = out_.extension().string();
  if (json_ || form_ == Form::json || (form_ == Form::text && ending == ".json"))
    return write_json(report, out);
  if (form_ == Form::text && ending != ".csv")
    return write_text(report, out, is_stdout ? terminal_columns(STDOUT_FILENO) : std::nullopt);
  const Table* const table = report.csv_table_or_null();
  const Table facts = table != nullptr ? Table() : table_of_json_facts(report);
  if (table == nullptr && facts.columns.empty())
    throw UsageError("this command has no values to write as CSV");
  write_csv(table != nullptr ? *table : facts, out,
            form_ == Form::csv_semicolon ? CsvDialect::semicolons : CsvDialect::commas);
}

void Output::put(Report& report) const {
  bool may_warn = true;  // once, also if the page is replaced again and again
  for (;; report = report.next()) {
    if (style_.title) report.title = *style_.title;
    report.byline = author_.empty() || date_.empty() ? author_ + date_ : author_ + ", " + date_;
    if (!out_.empty()) {
      write_output(out_, [&](std::ostream& out) { write(report, out, false); });
    } else {
      write(report, std::cout, true);
    }
    bool has_figures = true;
    if (!page_.empty())
      write_output(page_, [&](std::ostream& out) { has_figures = write_page(report, out); });
    if (!has_figures && std::exchange(may_warn, false))
      print_error("{}", missing_figures_warning(page_));
    if (!picture_.empty())
      write_output(picture_, draw(report, plot_format("plot", picture_), style_));
    if (!report.next) return;
    std::cout.flush();
    flush_stdout();
  }
}

struct Command {
  std::string_view name;
  std::string_view group;  // group in the overview; commands of one group are adjacent
  std::string_view purpose;
  /// The function prints its output itself, or returns a report; or the name of a script in jobs/.
  std::variant<int (*)(Options&), Report (*)(Options&), const char*> function;
  const char* figure = nullptr;  ///< what --plot draws of the report; null: --plot is not available
  OutMode out = OutMode::text;
};

Report completion_command(Options& options);
Report version_command(Options& options);

constexpr std::array commands{
    Command{"run", "run", "solve many floor plans into one HDF5 file, with or without mpirun",
            run_command},
    Command{"launch", "run", "start 'wallheat run' so that it survives lost workers", "launch.sh"},
    Command{"submit", "run", "submit a run to Slurm or LSF, as one job or as an array",
            "submit.sh"},
    Command{"solve", "run", "solve one floor plan, print its statistics and draw it",
            solve_command},
    Command{"generate", "run", "generate floor plans, or create them from pictures",
            generate_command, nullptr, OutMode::custom},
    Command{"whatif", "wall temperatures",
            "compute the temperatures of plans with other wall temperatures", whatif_command,
            "the means and shares over the wall temperatures"},
    Command{"need", "wall temperatures",
            "compute the wall temperature that rooms need to reach a target", need_command,
            "the rooms by required wall temperature, and the share that reaches the target"},
    Command{"summary", "results", "print averages, threshold counts, and slow and failed plans",
            summary_command, "the histogram of the means"},
    Command{"list", "results", "list plans or rooms, selected and sorted", list_command},
    Command{"plot", "results", "draw stored temperature fields: one plan, or a sheet of many",
            plot_command, "the fields", OutMode::picture},
    Command{"export", "results", "export results as CSV, for ParaView or as NumPy arrays",
            export_command},
    Command{"compare", "results", "compare results and times of runs and of other programs",
            compare_command, "the differences of the mean temperatures, and the seconds per plan"},
    Command{"verify", "results", "check a result file against its floor plans", verify_command},
    Command{"status", "cluster", "show the progress of a run, or how it ended", status_command},
    Command{"queue", "cluster", "forecast how long jobs wait in a scheduler queue", queue_command,
            "the 95 % bounds and medians, or with --means the means"},
    Command{"advise", "cluster", "recommend partition and job size, with completion time and cost",
            advise_command},
    Command{"merge", "cluster", "merge the shard files of a job array", merge_command, nullptr,
            OutMode::custom},
    Command{"repair", "cluster", "repair the result file of a killed run, or a damaged one",
            repair_command},
    Command{"scaling", "measurements",
            "measure or predict strong scaling with the number of workers", scaling_command,
            "the speed-ups, their limits and the ideal line"},
    Command{"bench", "measurements", "measure the solvers against the peak of this machine",
            bench_command,
            "with --solvers the times of the solvers, with --device gpu GPU against CPU over plan "
            "sizes"},
    Command{"devices", "measurements", "show the cores, instruction sets and GPUs of this machine",
            devices_command},
    Command{"monitor", "measurements",
            "sample the load of this node's CPUs and GPUs, or show a recording", monitor_command,
            "a recording over time"},
    Command{"offload", "measurements", "compute the break-even point of a transfer to a GPU",
            offload_command, "the times of CPU and GPU over the number of operations"},
    Command{"trace", "measurements", "write the timelines of all solver threads for Perfetto",
            trace_command, nullptr, OutMode::custom},
    Command{"page", "more", "combine the JSON output of commands in one HTML page", page_command,
            nullptr, OutMode::custom},
    Command{"completion", "more", "print the completion script for bash, zsh or fish",
            completion_command},
    Command{"version", "more", "print the version, and whether it supports MPI and GPUs",
            version_command},
};

std::vector<std::string> command_names() {
  std::vector<std::string> names{"help"};
  for (const Command& command : commands) names.emplace_back(command.name);
  return names;
}

std::string overview() {
  std::string text = "Usage: wallheat COMMAND [options]\n";
  std::string_view group;
  for (const Command& command : commands) {
    if (std::exchange(group, command.group) != command.group)
      text += fmt::format("\n{}:\n", command.group);
    text += fmt::format("  {:<12}{}\n", command.name, command.purpose);
  }
  text +=
      "\nTo begin:\n    wallheat generate --out plans --count 8 --size 96\n    wallheat run "
      "--data plans --out results.h5\n    wallheat summary results.h5\n";
  return wrap_text_for(STDOUT_FILENO, text, 14) +
         wrap_text_for(STDOUT_FILENO,
                       "\n'wallheat help COMMAND' lists a command's options and two examples.\n",
                       0);
}

/// Throws UsageError if there is no such command.
const Command& command_named(const std::string& name) {
  const auto* const found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end()) return *found;
  throw UsageError(fmt::format("unknown command '{}'{}", escape_control_chars(name),
                               did_you_mean(name, command_names())));
}

/// Replaces this process by a script of jobs/: of the checkout in which this program was built, or
/// of its installation. Throws RunError.
[[noreturn]] void become_script(const std::string& name, const Arguments& arguments) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* const jobs : {"../jobs", "../share/wallheat/jobs"}) {
    std::string script = (folder / jobs / name).lexically_normal().string();
    std::vector<char*> words{script.data()};
    for (const std::string& argument : arguments)
      words.push_back(const_cast<char*>(argument.data()));
    words.push_back(nullptr);
    (void)std::signal(SIGPIPE, SIG_DFL);  // a script cannot undo prepare_standard_streams()
    ::execv(script.c_str(), words.data());
  }
  throw RunError(fmt::format("{} not found in {} or {}; install wallheat with its scripts", name,
                             (folder / "../jobs").lexically_normal().string(),
                             (folder / "../share/wallheat/jobs").lexically_normal().string()));
}

int dispatch_command(const Command& command, Options& options) try {
  if (const auto* script = std::get_if<const char*>(&command.function))
    become_script(*script, options.arguments());
  if (const auto* function = std::get_if<int (*)(Options&)>(&command.function))
    return (*function)(options);
  Output output(options, command.out, command.figure);
  Report report = std::get<Report (*)(Options&)>(command.function)(options);
  output.put(report);
  if (!report.error.empty()) {
    flush_stdout();
    print_error("wallheat: {}", escape_and_truncate(report.error));
  }
  return report.exit_status;
} catch (const Options::Done&) {
  return exit_done;
}

Report completion_command(Options& options) {
  std::string shell;
  options.describe(
      "SHELL",
      "Prints the script with which a shell completes the commands and options of wallheat.\nbash: "
      "wallheat completion bash >> ~/.bashrc\nzsh: wallheat completion zsh >> ~/.zshrc\nfish: "
      "wallheat completion fish > ~/.config/fish/completions/wallheat.fish",
      {"wallheat completion bash", "wallheat completion zsh"});
  options.add("shell",
              value(shell, "NAME").completed_by({"bash", "zsh", "fish"}).positional().required(),
              "bash, zsh or fish (also as an argument)");
  options.parse();
  const std::string of_bash = "complete -o default -C 'wallheat complete' wallheat";
  const auto text =
      parse_choice<std::string>("shell", shell,
                                {{"bash", of_bash},
                                 {"zsh", "autoload -U +X bashcompinit && bashcompinit\n" + of_bash},
                                 {"fish",
                                  "complete -c wallheat -a '(COMP_LINE=(commandline -cp | string "
                                  "collect) wallheat complete)'"}});
  return {.elements = {Note{text}}};
}

Report version_command(Options& options) {
  options.describe(
      "[options]",
      "Prints the version of wallheat, the commit that it was built from (-dirty: with "
      "changes), the compiler, the MPI library that it was built with, and whether it "
      "was built with CUDA, which GPUs require. Without git the build does not know "
      "the commit.",
      {"wallheat version", "wallheat version --json"});
  options.parse();
  const std::string cuda = gpu_support().built_with_cuda ? "yes" : "no";
  // The scripts in jobs read the MPI library from the JSON output.
  const std::string commit = source_commit;
  return {.elements = {Fact{"version", "", std::string(version())},
                       Fact{"commit", "", commit.empty() ? Value() : Value(commit)},
                       Fact{"compiler", "", compiler_name}, Fact{"mpi", "", mpi_library()},
                       Fact{"cuda", "", cuda},
                       Note{fmt::format("wallheat {} (commit: {}; compiler: {}; MPI: {}; CUDA: {})",
                                        version(), commit.empty() ? "unknown" : commit,
                                        compiler_name, mpi_library(), cuda)}}};
}

/// Prints the possible next words of a command line, which is $COMP_LINE up to $COMP_POINT, one per
/// line. Prints nothing if every file is possible.
int complete() {
  const char* line = std::getenv("COMP_LINE");
  const char* point = std::getenv("COMP_POINT");
  std::string text = line == nullptr ? "" : line;
  if (point != nullptr)
    text.resize(std::min<std::size_t>(text.size(), std::strtoul(point, nullptr, 10)));
  std::istringstream stream(text);
  Arguments words{std::istream_iterator<std::string>(stream), {}};
  if (text.empty() || text.ends_with(' ')) words.emplace_back();
  if (words.size() <= 2) {
    for (const std::string& name : command_names())
      if (name.starts_with(words.back())) fmt::print("{}\n", name);
    return exit_done;
  }
  const auto* const command = std::ranges::find(commands, words[1], &Command::name);
  if (command == commands.end() || std::holds_alternative<const char*>(command->function))
    return exit_done;
  Options options(words[1], {words.begin() + 2, words.end()});
  options.complete();
  return dispatch_command(*command, options);
}

bool is_any_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

int run_one(const std::string& name, Arguments arguments) {
  if (is_any_of(name, {"", "help", "--help", "-h"})) {
    if (arguments.empty() || arguments.front() == "help") {
      fmt::print("{}", overview());
      return exit_done;
    }
    if (arguments.size() > 1)
      throw UsageError(fmt::format("unexpected argument '{}': help takes one command",
                                   escape_control_chars(arguments.back())));
    return run_one(arguments.front(), {"--help"});
  }
  if (is_any_of(name, {"--version", "-V"})) return run_one("version", std::move(arguments));
  // Only programs call these two.
  if (name == "solver-process") return solver_process_command(arguments);
  if (name == "complete") return complete();
  const Command& command = command_named(name);
  Options options(name, std::move(arguments));
  return dispatch_command(command, options);
}

}  // namespace

int app_main(const Arguments& arguments) {
  enable_huge_page_heap();
  disable_hwloc_plugins();
  use_all_gpu_queues();
  prepare_standard_streams();
  raise_process_limits();
  const std::string name = arguments.empty() ? "" : arguments.front();
  try {
    const int status =
        run_one(name, {arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end()});
    flush_stdout();
    return status;
  } catch (const UsageError& error) {
    // Under mpirun all ranks find the same usage error. Rank 0 reports it, and the others exit with
    // status 0: if one of them failed, mpirun would end rank 0 before it has printed the message.
    if (name == "run" && launched_rank() != 0) return exit_done;
    const bool known = std::ranges::count(commands, name, &Command::name) > 0;
    const std::string message = escape_and_truncate(error.what());
    print_error("wallheat: {}{} see 'wallheat help{}'", message, message.ends_with('?') ? "" : ";",
                known ? " " + name : "");
    return exit_usage;
  } catch (const std::exception& error) {
    if (stdout_failed()) exit_if_stdout_closed();
    // The message of fmt does not contain the name of the file that could not be written.
    print_error("wallheat: {}",
                stdout_failed() ? stdout_write_error : escape_and_truncate(exception_text(error)));
    return exit_failed;
  }
}

}  // namespace wallheat
