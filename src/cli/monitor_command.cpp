#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "cli/commands.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "node/node_telemetry.hpp"
#include "report/node_text.hpp"
#include "report/recording.hpp"
#include "run/batch_job.hpp"
#include "run/stop_signals.hpp"
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
  double interval_s = 0;
  double duration_s = std::numeric_limits<double>::infinity();
  std::uint64_t samples = 0;  ///< 0: unlimited
  fs::path csv;
  bool json = false;
  bool processes = false;
};

double seconds_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// Parses a duration as parse_duration() does, and fractions of a second: "0.5" or "0.5s". Returns
/// NaN if the text is not a duration.
double seconds_in(const std::string& text) try {
  std::string_view number = text;
  if (number.ends_with('s')) number.remove_suffix(1);
  if (const auto seconds = parse_number<double>(number)) return *seconds;
  return static_cast<double>(parse_duration(text).count());
} catch (const UsageError&) {
  return std::numeric_limits<double>::quiet_NaN();
}

/// Waits until the time `then_s`. Returns false if a stop was requested.
bool wait_until(double then_s) {
  constexpr double look_s = 0.1;
  while (!stop_requested()) {
    const double left_s = then_s - seconds_now();
    if (left_s <= 0) return true;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left_s, look_s)));
  }
  return false;
}

/// Writes samples to a CSV file, as JSON to stdout, or as text output.
class SampleOutput {
 public:
  explicit SampleOutput(const MonitorOptions& options)
      : options_(options), at_terminal_(terminal_columns(STDOUT_FILENO).has_value()) {
    // Written in place, not under a temporary name, because other programs read the recording while
    // it grows.
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

  void add(const NodeSample& sample, const std::vector<NvmlGpu>& gpus,
           const std::vector<std::string>& columns, const std::vector<double>& values) {
    if (csv_.is_open()) {
      if (samples_ == 0) csv_ << csv_header(columns) << '\n';
      // Flushes each row, so that readers see it and a kill loses nothing.
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

/// Takes samples until a stop is requested, or the duration or the number of samples is reached.
std::vector<SeriesSummary> watch(const MonitorOptions& options) {
  const double start_s = seconds_now();
  const double end_s = start_s + options.duration_s;
  install_stop_signal_handlers();
  SampleOutput output(options);
  NodeTelemetry node(start_s);
  const auto log_problems = [&] {
    for (const std::string& message : node.take_warnings())
      print_error("wallheat: {}", escape_control_chars(message));
  };
  log_problems();
  // Discards the driver's records of the time before the first sample, which include processes that
  // have ended.
  if (options.processes) (void)node.gpu_processes();
  std::vector<SeriesSummary> summaries;
  const std::vector<std::string> columns = node_columns(node.gpus());
  for (std::uint64_t taken = 0; options.samples == 0 || taken < options.samples; ++taken) {
    const double next_s = start_s + static_cast<double>(taken + 1) * options.interval_s;
    if (next_s > end_s || !wait_until(next_s)) break;
    const NodeSample sample = node.sample(seconds_now());
    log_problems();
    if (summaries.empty())
      for (const std::string& name : columns)
        summaries.push_back({name, std::string(unit_of_column(name)), 0, 0, {}});
    const std::vector<double> values = node_values(sample);
    for (std::size_t i = 0; i < values.size(); ++i) summaries[i].add(values[i]);
    output.add(sample, node.gpus(), columns, values);
    if (options.processes) output.add(node.gpus(), node.gpu_processes());
  }
  if (!summaries.empty()) summaries.erase(summaries.begin());  // the column of the seconds
  return summaries;
}

}  // namespace

Report monitor_command(Options& options) {
  MonitorOptions monitor;
  options.describe(
      "[FILE] [options]",
      "Samples the load of this node, whatever runs on it: CPU utilisation (cpu, %), memory in use "
      "(ram, MiB), and for each GPU the values of 'nvidia-smi dmon': power (pwr, W), temperatures "
      "(gtemp, mtemp, C), share of time with a running kernel (sm, %) and with memory accesses "
      "(mem, %), video codecs (enc, dec, %), clocks (mclk, pclk, MHz), memory in use (fb, MiB). On "
      "Ctrl-C or SIGTERM it prints means and maxima, and exits. With --json each sample is an "
      "object on a separate line, and the summary is the last object.\nmonitor FILE prints means "
      "and maxima of a recording: of --csv, 'nvidia-smi dmon' or 'nvidia-smi stats'.",
      {"wallheat monitor --samples 2 --interval 0.1",
       "wallheat monitor --duration 1s --interval 0.2 --csv node.csv"});
  options.add("file", file(monitor.file, FileRole::input).positional(),
              "a recording (also as an argument)");
  constexpr double min_s = 0.01;
  constexpr double max_s = 86400;
  const auto set_interval = [&](const std::string& text) {
    monitor.interval_s = seconds_in(text);
    return monitor.interval_s >= min_s && monitor.interval_s <= max_s;
  };
  options.add("interval,i",
              custom_value("TIME", "a duration from 0.01 s to a day", set_interval, "1s"),
              "time between samples, such as 0.5, 1s or 1m");
  const auto set_duration = [&](const std::string& text) {
    monitor.duration_s = seconds_in(text);
    return monitor.duration_s >= 0;
  };
  options.add("duration", custom_value("TIME", "a duration", set_duration),
              "stop after this time, such as 90s, 30m or 1h30m (default: never)");
  options.add("samples", value(monitor.samples, "N", 0, "unlimited").at_least(1),
              "stop after N samples");
  options.add("csv", output_file(monitor.csv, "time,seconds,"),
              "write the samples to a CSV file instead, one row per sample, with the energy of "
              "each GPU since the start (J) in addition");
  options.add(
      "processes", flag(monitor.processes),
      "also list the processes that use each GPU with each sample, as 'nvidia-smi pmon' does");
  options.add_conflict("file", {"interval", "duration", "samples", "csv", "processes"});
  options.add_conflict("csv", {"processes"});
  options.add_dependency("file", {"plot", "format"});
  options.parse();
  monitor.json = options.was_given("json");

  if (monitor.file.empty()) {
    auto summaries = watch(monitor);
    if (summaries.empty()) return {.elements = {Note{"no sample was taken"}}};
    return make_report(std::move(summaries));
  }
  const Recording recording = read_recording(monitor.file);
  Report report = make_report(summary_of(recording));
  report.title = monitor.file.filename().string();
  for (Figure& figure : figures_of(recording)) report.add(std::move(figure));
  return report;
}

}  // namespace wallheat
