#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <thread>

#include "cli/commands.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "io/process_setup.hpp"
#include "node/node_telemetry.hpp"
#include "report/node_text.hpp"
#include "report/recording.hpp"
#include "run/batch_job.hpp"
#include "run/signals.hpp"
#include "view/output_file.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace fs = std::filesystem;

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

struct MonitorOptions {
  fs::path file;
  std::string interval;
  std::string duration;
  std::uint64_t samples = 0;  ///< 0: without end
  fs::path csv;
  bool json = false;
  bool processes = false;
};

double seconds_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// As parse_duration, and parts of a second: "0.5" or "0.5s".
double interval_seconds(const std::string& text) {
  constexpr double least_s = 0.01;
  constexpr double most_s = 86400;
  char* end = nullptr;
  double seconds = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  if (text.empty() || !(rest.empty() || rest == "s"))
    seconds = static_cast<double>(parse_duration(text).count());
  if (!(seconds >= least_s && seconds <= most_s))
    throw UsageError("--interval must be from 0.01 s to a day, not '" + text + "'");
  return seconds;
}

/// False if a stop was asked for.
bool wait_until(double then_s) {
  constexpr double look_s = 0.1;
  while (!stop_requested()) {
    const double left_s = then_s - seconds_now();
    if (left_s <= 0) return true;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left_s, look_s)));
  }
  return false;
}

/// Where the samples go: to a CSV, as JSON to stdout, or as lines to people.
class SampleOutput {
 public:
  explicit SampleOutput(const MonitorOptions& options)
      : options_(options), at_terminal_(terminal_columns(STDOUT_FILENO).has_value()) {
    if (!options.csv.empty()) csv_.open(options.csv, std::ios::trunc);
    check();
  }

  void add(const std::vector<NvmlGpu>& gpus,
           const std::vector<std::vector<GpuProcess>>& processes) const {
    if (options_.json) {
      fmt::print("{}\n", json_line_of(utc_now(), gpus, processes));
    } else {
      for (const std::string& line : process_lines(gpus, processes)) print_line(line, 2);
    }
    flush_stdout();
  }

  void add(const NodeSample& sample, const std::vector<NvmlGpu>& gpus, const NodeColumns& columns,
           const std::vector<double>& values) {
    if (csv_.is_open()) {
      if (samples_ == 0) csv_ << csv_head(columns) << '\n';
      // At once, so that a reader sees it and a kill loses nothing.
      csv_ << csv_row(utc_now(), values) << std::endl;
    } else if (options_.json) {
      fmt::print("{}\n", json_row(utc_now(), columns, values));
    } else {
      constexpr std::size_t samples_a_heading = 20;
      if (samples_ == 0 || (at_terminal_ && samples_ % samples_a_heading == 0))
        for (const std::string& line : node_heading(!gpus.empty())) print_line(line, 2);
      for (const std::string& line : node_lines(sample, gpus)) print_line(line, 2);
    }
    ++samples_;
    check();
    flush_stdout();
  }

 private:
  void check() const {
    if (csv_.is_open() ? !csv_ : !options_.csv.empty())
      throw RunError(options_.csv.string() + " cannot be written");
  }

  const MonitorOptions& options_;
  bool at_terminal_;
  std::ofstream csv_;
  std::size_t samples_ = 0;
};

/// Until a stop is asked for, or it has been long enough.
std::vector<SeriesSummary> watch(const MonitorOptions& options) {
  const double interval_s = interval_seconds(options.interval);
  const double start_s = seconds_now();
  const double end_s =
      options.duration.empty()
          ? std::numeric_limits<double>::infinity()
          : start_s + static_cast<double>(parse_duration(options.duration).count());
  catch_stop_signals();
  SampleOutput output(options);
  NodeTelemetry node(start_s);
  const auto tell_problems = [&] {
    for (const std::string& sentence : node.take_problems())
      print_error("wallheat: {}", printable(sentence));
  };
  tell_problems();
  // The driver remembers some time, and those that have ended.
  if (options.processes) (void)node.gpu_processes();
  std::vector<SeriesSummary> summaries;
  const NodeColumns columns(node.gpus());
  for (std::uint64_t taken = 0; options.samples == 0 || taken < options.samples; ++taken) {
    const double next_s = start_s + static_cast<double>(taken + 1) * interval_s;
    if (next_s > end_s || !wait_until(next_s)) break;
    const NodeSample sample = node.sample(seconds_now());
    tell_problems();
    if (summaries.empty())
      for (const std::string& name : columns.names())
        summaries.push_back({name, std::string(unit_of_column(name)), 0, 0, {}});
    const std::vector<double> values = columns.values(sample);
    for (std::size_t i = 0; i < values.size(); ++i) summaries[i].add(values[i]);
    output.add(sample, node.gpus(), columns, values);
    if (options.processes) output.add(node.gpus(), node.gpu_processes());
  }
  if (!summaries.empty()) summaries.erase(summaries.begin());  // the seconds
  return summaries;
}

}  // namespace

Report monitor_command(Options& options) {
  MonitorOptions monitor;
  options.describe(
      "[FILE] [options]",
      "Shows what this node does, whatever runs on it: how busy its cpus are (%), memory in use "
      "(ram, MiB), and of each GPU (NVML) what 'nvidia-smi dmon' shows under the same names: power "
      "(pwr, W), temperatures (gtemp, mtemp, C), time with a kernel at work (sm, %), with memory "
      "at work (mem, %), video codecs (enc, dec, %), clocks (mclk, pclk, MHz), memory in use (fb, "
      "MiB). It ends by Ctrl-C or SIGTERM, with means and largest values. With --json each sample "
      "is an object on a line of its own, and the summary is the last one.\n"
      "monitor FILE tells these of a recording: what --csv wrote, or a listing of 'nvidia-smi "
      "dmon' or 'nvidia-smi stats'.",
      {"wallheat monitor --samples 2 --interval 0.1",
       "wallheat monitor --duration 1s --interval 0.2 --csv node.csv"});
  options.add("file", file(monitor.file, FileRole::read), "a recording (also as an argument)");
  options.add("interval,i", value(monitor.interval, "TIME", "1s"),
              "between samples, as 0.5, 1s or 1m");
  options.add("duration", value(monitor.duration, "TIME"),
              "end after so long, as 90s, 30m or 1h30m; default: never");
  options.add("samples", value(monitor.samples, "N", 0, "without end").at_least(1),
              "end after so many samples");
  options.add("csv", made_file(monitor.csv, "time,seconds,"),
              "write the samples to a CSV file, a row each, instead of showing them; with a column "
              "also for the energy of each GPU since the start (J)");
  options.add("processes", flag(monitor.processes),
              "also tell with each sample which processes use each GPU, as 'nvidia-smi pmon' does: "
              "time with their kernels at work (sm, %), memory at work (mem, %), video codecs "
              "(enc, dec, %), memory they hold (fb, MiB)");
  options.positional("file", 1);
  options.exclude("file", {"interval", "duration", "samples", "csv", "processes"});
  options.exclude("csv", {"processes"});
  options.need("file", {"plot", "format"});
  options.parse();
  monitor.json = options.was_given("json");

  if (monitor.file.empty()) {
    auto summaries = watch(monitor);
    if (summaries.empty()) return {.parts = {Note{"no sample was taken"}}};
    return report_of(std::move(summaries));
  }
  const Recording recording = read_recording(monitor.file);
  Report report = report_of(summary_of(recording));
  report.title = monitor.file.filename().string();
  for (Figure& figure : figures_of(recording)) report.add(std::move(figure));
  return report;
}

}  // namespace wallheat
