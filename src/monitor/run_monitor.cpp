#include "monitor/run_monitor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/gpu_stats.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "view/advice.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the time between two updates of the progress, in s. With lines it is a tenth of the
/// elapsed time, between 5 s and 10 min, so that the log of a day is short.
double progress_interval_s(ProgressStyle style, double elapsed_s) {
  constexpr double of_bar = 0.1;
  constexpr double least = 5;
  constexpr double most = 600;
  return style == ProgressStyle::bar ? of_bar : std::clamp(elapsed_s / 10, least, most);
}

std::string iterations_text(const PlanResult& result) {
  const auto iterations = known_iterations(result);
  return iterations ? count_text(static_cast<std::size_t>(*iterations), "iteration")
                    : "an unknown number of iterations";
}

}  // namespace

RunMonitor::RunMonitor(Log& log, ProgressStyle style, std::optional<EventLog> events,
                       RunStatus status, RunProgress::IdOf id_of, const RunTally& start,
                       LiveStatus& live_status, bool has_ranks,
                       const std::function<Clock::time_point()>& now)
    : log_(log),
      style_(style),
      events_(std::move(events)),
      status_(std::move(status)),
      progress_(start, std::move(id_of), has_ranks, now),
      live_status_(live_status),
      now_(now) {
  status_.state = "running";
  // A launcher watches for this status.
  live_status_.write(this->status(status_.state, std::numeric_limits<double>::quiet_NaN()));
}

void RunMonitor::on_event(const Event& event, const PlanResult& row) {
  log_event(event, row);  // first, because it needs the state of the plan before the event
  progress_.on_event(event, row);
  if (event.kind == Event::Kind::worker_ready) last_ready_ = now_();
  if (event.kind == Event::Kind::stopping) status_.state = "draining";
  if (events_) events_->add(event, row);
}

std::string RunMonitor::name_of(int rank, const std::string& host) const {
  return fmt::format("{} {}{}", progress_.worker_label(), rank, host.empty() ? "" : " on " + host);
}

/// Logs the workers that have become ready since the last call; in the first call with the header
/// of the table.
void RunMonitor::show_workers() {
  const std::vector<WorkerInfo>& ready = progress_.ready();
  const std::size_t before = shown_workers_.size();
  if (before == ready.size()) return;
  const auto first = static_cast<std::ptrdiff_t>(before);
  shown_workers_.insert(shown_workers_.end(), ready.begin() + first, ready.end());
  std::sort(shown_workers_.begin() + first, shown_workers_.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  if (ready.size() == 1) {
    const WorkerProperties& only = ready.front().properties;
    const std::string slots = only.device.starts_with(command_device)
                                  ? count_text(only.slots, "program")
                                  : count_text(only.slots, "thread") + " of " + only.device;
    log_.info("{} on {}, cpus {}", slots, only.host, binding_text(only));
  } else {
    const std::vector<std::string> table = progress_.worker_table(shown_workers_);
    if (before <= 1) log_.info("{}", table.front());
    for (std::size_t row = before; row < ready.size(); ++row) log_.info("{}", table[row + 1]);
  }
  std::map<std::string, std::vector<int>> without_gpu;  // reason -> ranks
  std::map<std::string, std::vector<int>> limited;      // clause -> ranks
  std::map<std::string, std::vector<int>> sources;      // clause -> ranks
  for (auto each = shown_workers_.begin() + first; each != shown_workers_.end(); ++each) {
    if (!each->properties.no_gpu_reason.empty())
      without_gpu[each->properties.no_gpu_reason].push_back(each->rank);
    if (!each->properties.core_limit_reason.empty())
      limited[each->properties.core_limit_reason].push_back(each->rank);
    if (!each->properties.thread_count_source.empty())
      sources[each->properties.thread_count_source].push_back(each->rank);
  }
  const auto of = [&](const std::vector<int>& ranks) {
    if (!progress_.has_ranks() && ready.size() == 1) return std::string();
    return fmt::format("{} {}: ", progress_.worker_label(), compress_ranges(ranks));
  };
  for (const auto& [reason, ranks] : without_gpu) log_.info("{}on the CPU: {}", of(ranks), reason);
  for (const auto& [clause, ranks] : sources) log_.info("{}{}", of(ranks), clause);
  for (const auto& [clause, ranks] : limited) log_.warn("{}{}", of(ranks), clause);
}

void RunMonitor::log_event(const Event& event, const PlanResult& result) {
  const auto worker = [&] { return name_of(event.worker->rank, event.worker->properties.host); };
  switch (event.kind) {
    case Event::Kind::finished:
    case Event::Kind::plan_given_up:
      return log_event(result);
    case Event::Kind::attempt_failed:
      return log_.warn("plan {} failed (failure {}, will be retried): {}", result.id,
                       result.failures, result.error);
    case Event::Kind::conflict:
      return log_.log(LogLevel::err, "plan {}: {}", result.id, result.error);
    case Event::Kind::worker_departed:
      return log_.info("{}: left: {}", worker(), event.reason);
    case Event::Kind::worker_excluded:
      return log_.warn("{}: excluded ({}); reassigning its plans", worker(), event.reason);
    case Event::Kind::worker_lost:
      return log_.warn("{}: lost (no heartbeat for {}); reassigning its plans", worker(),
                       duration_text(event.seconds));
    case Event::Kind::worker_recovered:
      return log_.warn("{}: recovered", worker());
    case Event::Kind::stopping:
      return log_.warn("stopping ({}): aborting plans in progress, storing finished ones",
                       event.reason);
    case Event::Kind::aborted:
      return log_.log(LogLevel::debug,
                      "plan {}: aborted at iteration {} after {}; started {} in total", result.id,
                      event.progress.iterations, duration_text(event.progress.seconds),
                      count_text(static_cast<std::size_t>(result.attempts), "time"));
    case Event::Kind::worker_report:
      for (const PlanProgress& plan : event.report->running)
        log_.log(LogLevel::trace, "{}: plan {} for {}, iteration {}, delta {:.3g}", worker(),
                 progress_.id_of(plan.plan), duration_text(plan.seconds), plan.iterations,
                 plan.delta);
      return;
    default:
      return;
  }
}

void RunMonitor::log_event(const PlanResult& stored) {
  if (stored.status == PlanStatus::failed)
    return log_.warn("plan {} failed: {}", stored.id, stored.error);
  if (progress_.tally().failed_plans.contains(stored.index))
    log_.info("plan {}: solved after an earlier failure, by {}", stored.id,
              name_of(stored.rank, stored.host));
  // Limit of the magnitude; temperatures in kelvin are far above it.
  constexpr double hardly_celsius = 100;
  const double mean = stored.statistics.mean_temp;  // NaN without interior cells
  const double deviation = stored.statistics.std_temp;
  const bool is_odd = std::abs(mean) > hardly_celsius || deviation > hardly_celsius;
  if (is_odd && ++implausible_temperatures_ == 1)
    log_.warn(
        "plan {}: mean {:.6g}, standard deviation {:.6g}: input does not look like °C; check wall "
        "and initial temperatures (reported once)",
        stored.id, mean, deviation);
  if (is_far_from_steady(stored) && ++far_from_steady_ == 1) {
    const bool has_solver_command = is_solver_command(stored.solver);
    far_from_steady_remark_ = far_from_steady_remark(has_solver_command);
    log_.warn("{} {} (reported once)",
              has_solver_command
                  ? fmt::format("the field of plan {} is", stored.id)
                  : fmt::format("plan {} stopped after {},", stored.id, iterations_text(stored)),
              far_from_steady_remark_);
  }
  log_.log(LogLevel::debug, "plan {}: {} after {} in {:.3f} s by {} {}", stored.id,
           to_string(stored.status), iterations_text(stored), stored.seconds,
           progress_.worker_label(), stored.rank);
}

RunStatus RunMonitor::status(const std::string& state, double seconds_left) const {
  RunStatus status = status_;
  status.written_utc = utc_now();
  status.state = state;
  if (std::isfinite(seconds_left)) status.seconds_left = seconds_left;
  progress_.fill_status(status);
  return status;
}

void RunMonitor::flush_events() {
  if (!events_) return;
  try {
    events_->flush();
  } catch (const RunError& error) {
    log_.warn("{}; continuing without event log", error.what());
    events_.reset();
  }
}

void RunMonitor::tick(double seconds_left) {
  flush_events();
  const auto now = now_();
  constexpr std::chrono::milliseconds all_at_once{
      300};  // workers of one job become ready within about this time
  if (now - last_ready_ >= all_at_once) show_workers();
  if (now - status_written_ >= status_interval) {
    status_written_ = now;
    live_status_.write(status(status_.state, seconds_left));
  }
  if (std::chrono::duration<double>(now - shown_).count() <
      progress_interval_s(style_, progress_.elapsed_s()))
    return;
  shown_ = now;
  if (style_ == ProgressStyle::bar) log_.show_bar(progress_text(seconds_left));
  if (style_ == ProgressStyle::lines) log_.info("{}", progress_text(seconds_left));
}

std::string RunMonitor::rate_text() const {
  const double rate = progress_.plans_per_s();
  if (!rate_unit_ && rate > 0) rate_unit_ = rate_unit(rate);
  return wallheat::rate_text(rate, rate_unit_.value_or(RateUnit::plans_per_s));
}

std::string RunMonitor::progress_text(double seconds_left) const {
  const RunTally& tally = progress_.tally();
  const std::size_t done = tally.total - tally.remaining();
  const std::string left =
      std::isfinite(seconds_left) ? fmt::format(", {} left", duration_text(seconds_left)) : "";
  const std::string rate = tally.solved > 0 ? ", " + rate_text() : "";
  std::string text = fmt::format("{} of {}{}, {} failed{}", done, count_text(tally.total, "plan"),
                                 rate, tally.failed + tally.given_up, left);
  if (style_ != ProgressStyle::bar) return text;
  constexpr std::size_t widest = 30;
  constexpr std::size_t least = 5;  // a shorter bar is not readable
  constexpr std::size_t frame = 3;
  if (progress_bar_width() < text.size() + frame + least) return text;
  const std::size_t width = std::min(widest, progress_bar_width() - text.size() - frame);
  const std::size_t filled = tally.total == 0 ? width : width * done / tally.total;
  return fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '.'), text);
}

void RunMonitor::finish(const std::string& event) {
  progress_.end();
  log_.show_bar("");
  show_workers();
  const auto log_table = [this](const std::vector<std::string>& table) {
    for (const std::string& row : table) log_.info("{}", row);
  };
  const auto& workers = progress_.workers();
  if (workers.size() == 1)
    log_.info("threads were busy {:.0f} % of the time",
              progress_.busy_pct(workers.begin()->second));
  if (workers.size() > 1) log_table(progress_.work_table());
  if (implausible_temperatures_ > 1)
    log_.warn("{} plans have temperatures that do not look like °C", implausible_temperatures_);
  if (far_from_steady_ > 1) log_.warn("{} plans are {}", far_from_steady_, far_from_steady_remark_);
  log_table(progress_.gpu_table());
  log_table(progress_.kernel_table());
  if (const GpuTimeTotals& spent = progress_.gpu_times(); spent.total() > 0) {
    std::vector<std::string> parts;
    for (const GpuTimeCategory& part : gpu_time_categories)
      parts.push_back(
          fmt::format("{} {:.0f} %", part.text, 100 * (spent.*part.seconds) / spent.total()));
    log_.info("time of threads that solved plans on GPUs, {}: {}", duration_text(spent.total()),
              fmt::format("{}", fmt::join(parts, ", ")));
  }
  if (!events_) return;
  for (const auto& [rank, worker] : workers)
    if (worker.gpu.samples > 0) events_->add_gpu_usage(worker.status, worker.gpu);
  events_->add_run_end(event);
  flush_events();
}

}  // namespace wallheat
