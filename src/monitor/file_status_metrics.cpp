#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "monitor/file_status.hpp"
#include "store/result_path.hpp"

namespace wallheat {
namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

/// Escapes the value of a label. The format allows all characters of valid UTF-8.
std::string escape_label(const std::string& text) {
  std::string escaped;
  for (const char character : escape_control_chars(text)) {
    if (character == '\\' || character == '"') escaped += '\\';
    escaped += character;
  }
  return escaped;
}

std::string file_label(const ShardFileStatus& part) {
  return std::filesystem::absolute(result_path(part.file)).string();
}

/// Builds a text in Prometheus' text exposition format, version 0.0.4.
class Exposition {
 public:
  using AddSample = std::function<void(const Labels&, double)>;

  explicit Exposition(const FileStatus& status) : status_(status) {}

  /// Adds a metric with the samples that `visit` adds for each file. Each sample gets the label
  /// `file`. Adds nothing if there are no samples.
  void add(const std::string& name, const char* type, const char* help,
           const std::function<void(const ShardFileStatus&, const AddSample&)>& visit) {
    std::string samples;
    for (const ShardFileStatus& part : status_.parts)
      visit(part, [&](const Labels& labels, double value) {
        if (!std::isfinite(value)) return;
        samples += fmt::format("{}{{file=\"{}\"", name, escape_label(file_label(part)));
        for (const auto& [label, text] : labels)
          samples += fmt::format(",{}=\"{}\"", label, escape_label(text));
        samples += fmt::format("}} {}\n", value);
      });
    if (!samples.empty())
      text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", name, help, type, samples);
  }
  /// Adds a metric with one sample per file.
  void add(const std::string& name, const char* type, const char* help,
           const std::function<double(const ShardFileStatus&)>& value_of) {
    add(name, type, help,
        [&](const ShardFileStatus& part, const AddSample& add) { add({}, value_of(part)); });
  }
  /// Adds a metric with one sample per worker that the status of a run in progress lists.
  void add_of_workers(const std::string& name, const char* type, const char* help,
                      const std::function<double(const WorkerStatus&)>& value_of) {
    add(name, type, help, [&](const ShardFileStatus& part, const AddSample& add) {
      if (!part.is_running()) return;
      for (const WorkerStatus& worker : part.workers())
        add({{"rank", std::to_string(worker.rank)},
             {"host", worker.host},
             {"device", worker.device}},
            value_of(worker));
    });
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const FileStatus& status_;
  std::string text_;
};

}  // namespace

std::string prometheus_text(const FileStatus& status) {
  Exposition metrics(status);
  const auto number = [](auto count) { return static_cast<double>(count); };
  // The first line is also the mark by which status --overwrite recognizes its own file.
  metrics.add("wallheat_plans", "gauge", "Number of plans in the result file.",
              [&](const ShardFileStatus& part) {
                return number(part.plans.solved + part.plans.failed + part.plans.pending);
              });
  metrics.add("wallheat_plans_solved_total", "counter", "Number of solved plans, over all runs.",
              [&](const ShardFileStatus& part) { return number(part.plans.solved); });
  metrics.add("wallheat_plans_failed", "gauge",
              "Number of plans that failed. It decreases if they are retried.",
              [&](const ShardFileStatus& part) { return number(part.plans.failed); });
  metrics.add("wallheat_plans_pending", "gauge",
              "Number of plans without a result, including those in progress.",
              [&](const ShardFileStatus& part) { return number(part.plans.pending); });
  metrics.add("wallheat_plans_running", "gauge", "Number of plans in progress.",
              [&](const ShardFileStatus& part) { return number(part.plans.running); });
  metrics.add("wallheat_remaining_seconds", "gauge",
              "Predicted time until the run in progress ends.",
              [](const ShardFileStatus& part) { return part.plans.seconds_left.value_or(NAN); });
  metrics.add(
      "wallheat_run_state", "gauge", "1 for the state of the last run, 0 for others.",
      [](const ShardFileStatus& part, const Exposition::AddSample& add) {
        using enum RunState;
        for (const RunState state : {being_written, killed, unknown, failed, not_started, closed})
          add({{"state", std::string(to_string(state))}}, part.state == state ? 1 : 0);
      });
  metrics.add(
      "wallheat_heartbeat_age_seconds", "gauge",
      "Age of the status that the run in progress replaces every few seconds.",
      [](const ShardFileStatus& part) { return part.is_running() && part.run ? part.age_s : NAN; });
  metrics.add("wallheat_run_info", "gauge", "Constant 1, with the properties of the last run.",
              [](const ShardFileStatus& part, const Exposition::AddSample& add) {
                add({{"solver", part.solver},
                     {"host", part.writer.host},
                     {"job", part.writer.job},
                     {"shard", part.shard.text()}},
                    1);
              });
  metrics.add("wallheat_workers", "gauge", "Number of workers of the run in progress by state.",
              [&](const ShardFileStatus& part, const Exposition::AddSample& add) {
                if (!part.is_running() || !part.run) return;
                for (const auto& [state, count] : part.run->worker_states)
                  add({{"state", state}}, number(count));
              });
  metrics.add_of_workers("wallheat_worker_plans_total", "counter",
                         "Number of results of a worker. Of many workers, only those are listed "
                         "that are most likely to have a problem.",
                         [&](const WorkerStatus& worker) { return number(worker.plans); });
  metrics.add_of_workers("wallheat_worker_peak_memory_bytes", "gauge",
                         "Maximum memory of the process of a worker.",
                         [&](const WorkerStatus& worker) {
                           return worker.peak_memory > 0 ? number(worker.peak_memory) : NAN;
                         });
  return metrics.text();
}

}  // namespace wallheat
