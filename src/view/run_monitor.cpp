#include "view/run_monitor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/answer.hpp"
#include "view/advice.hpp"
#include "view/gpu_text.hpp"
#include "view/logger.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::chrono::milliseconds bar_interval{100};

/// Between lines: a tenth of the time that the run has taken, so that a day's log is short.
double line_interval_s(double elapsed_s) {
  constexpr double least = 5;
  constexpr double most = 600;
  return std::clamp(elapsed_s / 10, least, most);
}

/// "0-3,8": a list of cpus with its runs folded.
std::string cpu_list(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    runs.push_back(end == i + 1 ? fmt::format("{}", cpus[i])
                                : fmt::format("{}-{}", cpus[i], cpus[end - 1]));
    i = end;
  }
  return fmt::format("{}", fmt::join(runs, ","));
}

std::string gpu_text(const WorkerInfo& worker) {
  if (!worker.gpu) return "";
  return fmt::format(
      "  GPU {}: {}, {:.0f} GiB, {}", worker.gpu->ordinal, worker.gpu->uuid,
      static_cast<double>(worker.gpu->memory_bytes) / (1 << 30),
      worker.gpu->numa < 0 ? "NUMA node unknown" : fmt::format("NUMA node {}", worker.gpu->numa));
}

std::string cpus_text(const WorkerInfo& worker) {
  return cpu_list(worker.bound_cpus) + gpu_text(worker) +
         (worker.shared ? "  (shared: more workers than cores)" : "");
}

}  // namespace

RunStatus first_status(const RunFacts& facts) {
  RunStatus status;
  status.file = facts.out.string();
  status.started_utc = facts.started_utc;
  status.written_utc = utc_now();
  status.state = "starting";
  status.host = facts.host;
  status.pid = ::getpid();
  status.shard = facts.shard;
  return status;
}

RunMonitor::RunMonitor(std::shared_ptr<spdlog::logger> logger, StatusLine& line,
                       ProgressStyle style, std::optional<EventLog> events, RunFacts facts,
                       const RunTally& start, LiveStatus& live_status, Runtime& runtime)
    : logger_(std::move(logger)),
      line_(line),
      style_(style),
      events_(std::move(events)),
      facts_(std::move(facts)),
      tally_(start),
      live_status_(live_status),
      runtime_(runtime) {
  if (events_) events_->run("run_started");
  // A launcher watches for it.
  live_status_.write(status(state_, std::numeric_limits<double>::quiet_NaN()));
}

double RunMonitor::elapsed_s() const {
  return std::chrono::duration<double>(runtime_.now() - start_).count();
}

RunMonitor::WorkerShare& RunMonitor::share_of(int rank) {
  const auto [share, is_new] = shares_.try_emplace(rank);
  if (is_new) share->second.heard = runtime_.now();
  return share->second;
}

void RunMonitor::on_worker_ready(const WorkerInfo& worker) {
  WorkerShare& share = share_of(worker.rank);
  share.worker = worker;
  share.state = "working";
  if (events_) events_->worker("worker_ready", worker);
  ready_.push_back(worker);
  last_ready_ = runtime_.now();
}

std::vector<std::string> RunMonitor::worker_table() const {
  if (ready_.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"rank", "host", "device", "threads", "cpus"}};
  for (const WorkerInfo& worker : ready_)
    rows.push_back({fmt::format("{}", worker.rank), worker.host, worker.device,
                    fmt::format("{}", worker.threads), cpus_text(worker)});
  return table_lines("rllrl", rows);
}

/// Those that got ready since the last time; the first time with the table's head.
void RunMonitor::show_workers() {
  if (shown_workers_ == ready_.size()) return;
  std::sort(ready_.begin() + static_cast<std::ptrdiff_t>(shown_workers_), ready_.end(),
            [](const WorkerInfo& a, const WorkerInfo& b) { return a.rank < b.rank; });
  const std::vector<std::string> table = worker_table();
  if (ready_.size() == 1) {
    const WorkerInfo& only = ready_.front();
    logger_->info("{} thread(s) of {} on {}, cpus {}", only.threads, only.device, only.host,
                  cpus_text(only));
  } else {
    if (shown_workers_ <= 1) logger_->info("{}", table.front());
    for (std::size_t row = shown_workers_; row < ready_.size(); ++row)
      logger_->info("{}", table[row + 1]);
  }
  std::map<std::string, std::vector<int>> without_gpu;  // reason -> ranks
  std::map<std::string, std::vector<int>> limited;      // clause -> ranks
  for (; shown_workers_ < ready_.size(); ++shown_workers_) {
    const WorkerInfo& worker = ready_[shown_workers_];
    if (!worker.no_gpu.empty()) without_gpu[worker.no_gpu].push_back(worker.rank);
    if (!worker.limit.empty()) limited[worker.limit].push_back(worker.rank);
  }
  for (const auto& [reason, ranks] : without_gpu)
    logger_->info("rank {}: on the CPU: {}", cpu_list(ranks), reason);
  for (const auto& [clause, ranks] : limited) logger_->warn("rank {}: {}", cpu_list(ranks), clause);
}

void RunMonitor::on_leased(const WorkerInfo& worker, const Task& task) {
  if (events_) events_->plan("assigned", worker, task);
}

void RunMonitor::on_started(const WorkerInfo& worker, const Task& task) {
  if (events_) events_->plan("start", worker, task);
}

void RunMonitor::on_stored(const PlanResult& result) {
  tally_.spent.add(result);
  ++share_of(result.rank).plans;
  share_of(result.rank).spent.add(result);
  if (result.status == PlanStatus::failed) {
    tally_.failed_seconds += result.seconds;
    failed_.insert(result.index);
    logger_->warn("plan {} failed: {}", result.id, result.error);
  } else {
    ++tally_.solved;
    if (failed_.erase(result.index) > 0)
      logger_->info("plan {}, which had failed, is answered after all by rank {}", result.id,
                    result.rank);
    warn_of_odd_temperature(result);
    warn_of_early_stop(result);
    logger_->debug("plan {}: {} after {} iterations in {:.3f} s on rank {}", result.id,
                   to_string(result.status), result.iterations, result.seconds, result.rank);
  }
  tally_.failed = failed_.size();
  if (events_) events_->result(result);
}

void RunMonitor::warn_of_odd_temperature(const PlanResult& result) {
  constexpr double hardly_celsius = 100;            // either way; a plan in kelvin is far above
  const double mean = result.statistics.mean_temp;  // NaN where there is no room
  const double deviation = result.statistics.std_temp;
  if (!(std::abs(mean) > hardly_celsius) && !(deviation > hardly_celsius)) return;
  if (++odd_temperatures_ == 1)
    logger_->warn(
        "plan {} has a mean temperature of {:.6g} and a standard deviation of {:.6g}: that is "
        "hardly "
        "°C; see that its walls and start values are (said once)",
        result.id, mean, deviation);
}

void RunMonitor::warn_of_early_stop(const PlanResult& result) {
  if (is_far_from_steady(result) && ++early_stops_ == 1)
    logger_->warn("plan {} stopped after {} iterations, {} (said once)", result.id,
                  result.iterations, far_from_steady);
}

void RunMonitor::on_repeated(const PlanResult& result) {
  tally_.spent.add(result);
  tally_.repeated_seconds += result.seconds;
  share_of(result.rank).spent.add(result);
}

void RunMonitor::on_failed_try(const PlanResult& result) {
  ++tally_.failed_tries;
  tally_.spent.add(result);
  tally_.failed_seconds += result.seconds;
  share_of(result.rank).spent.add(result);
  logger_->warn("plan {} failed (failure {}, to be tried again): {}", result.id, result.failures,
                result.error);
  if (events_) events_->failure("failed_try", result);
}

void RunMonitor::on_conflict(const PlanResult& failed) {
  --tally_.solved;
  failed_.insert(failed.index);
  tally_.failed = failed_.size();
  logger_->error("plan {}: {}", failed.id, failed.error);
  if (events_) events_->failure("conflict", failed);
}

void RunMonitor::on_heartbeat(const WorkerInfo& worker, std::span<const PlanProgress> running) {
  WorkerShare& share = share_of(worker.rank);
  share.heard = runtime_.now();
  share.running_plans = running.size();
  share.running.resize(std::min(running.size(), most_running_told));
  std::partial_sort_copy(
      running.begin(), running.end(), share.running.begin(), share.running.end(),
      [](const PlanProgress& a, const PlanProgress& b) { return a.seconds > b.seconds; });
  if (share.state == "working" || share.state == "idle")
    share.state = running.empty() ? "idle" : "working";
  for (const PlanProgress& plan : running) {
    logger_->trace("rank {}: plan number {} for {}, iteration {}, delta {:.3g}", worker.rank,
                   plan.index, duration_text(plan.seconds), plan.iterations, plan.delta);
  }
}

void RunMonitor::on_gpu_sample(const WorkerInfo& worker, const GpuSample& sample) {
  WorkerShare& share = share_of(worker.rank);
  share.gpu.add(sample);
  share.gpu_now = sample;
  if (events_) events_->gpu_sample(worker, sample);
}

std::size_t RunMonitor::plans_at_once() const {
  std::size_t plans = 0;
  for (const WorkerInfo& worker : ready_)
    plans += worker.device.starts_with("cpu") ? worker.threads : 1;
  return plans;
}

std::size_t RunMonitor::solver_threads() const {
  std::size_t threads = 0;
  for (const WorkerInfo& worker : ready_) threads += worker.threads;
  return threads;
}

std::vector<std::string> RunMonitor::gpu_table() const {
  std::vector<std::string> table;
  for (const auto& [rank, share] : shares_) {
    if (share.gpu.samples == 0) continue;
    if (table.empty()) table.push_back(gpu_header());
    table.push_back(gpu_row(rank, share.worker.host, share.gpu, share.plans));
  }
  return table;
}

void RunMonitor::on_worker_refused(const WorkerInfo& worker, const std::string& reason) {
  logger_->warn("rank {} on {} takes no part in this run: {}", worker.rank, worker.host, reason);
  if (const auto share = shares_.find(worker.rank); share != shares_.end())
    share->second.state = "left";
  if (events_) events_->worker_left(worker, "refused: " + reason);
}

void RunMonitor::on_worker_left(const WorkerInfo& worker, const std::string& reason) {
  logger_->info("rank {} on {} has left: {}", worker.rank, worker.host, reason);
  share_of(worker.rank).state = "left";
  if (events_) events_->worker_left(worker, reason);
}

void RunMonitor::on_worker_lost(const WorkerInfo& worker, double silent_s) {
  const std::string reason = fmt::format("silent for {}", duration_text(silent_s));
  share_of(worker.rank).state = "lost";
  logger_->warn("rank {} on {} is lost ({}); its plans go to others", worker.rank, worker.host,
                reason);
  if (events_) events_->worker_left(worker, reason);
}

void RunMonitor::on_worker_back(const WorkerInfo& worker) {
  logger_->warn("rank {} on {} has been heard again and gets work", worker.rank, worker.host);
  share_of(worker.rank).state = "working";
  if (events_) events_->worker("worker_back", worker);
}

void RunMonitor::on_stopping(const std::string& reason) {
  state_ = "draining";
  logger_->warn("stopping ({}): abandoning the plans at hand, storing the rest", reason);
  if (events_) events_->run("stopping", reason);
}

void RunMonitor::on_abandoned(const AbandonedPlan& plan) {
  abandoned_.push_back(plan);
  tally_.abandoned_seconds += plan.last.seconds;
  logger_->debug("plan {} is abandoned at iteration {} after {}; it was started {} time(s) in all",
                 plan.task.id, plan.last.iterations, duration_text(plan.last.seconds),
                 plan.attempts);
  if (events_) events_->abandoned(plan);
}

void RunMonitor::on_predictions_judged(const PredictionQuality& quality) {
  constexpr std::size_t enough = 10;
  if (quality.plans < enough) return;
  predictions_ = fmt::format(
      "{} plans took {:.2f} times as long as predicted (median), nine of ten within a factor of "
      "{:.2f}",
      quality.plans, quality.median_ratio, quality.factor_90);
  logger_->debug("{}", predictions_);
}

RunStatus RunMonitor::status(const std::string& state, double seconds_left) const {
  RunStatus status = first_status(facts_);
  status.state = state;
  status.total = tally_.total;
  status.restored = tally_.restored;
  status.solved = tally_.solved;
  status.failed = tally_.failed;
  status.left = tally_.left();
  status.plans_per_s = static_cast<double>(tally_.solved) / elapsed_s();
  if (std::isfinite(seconds_left)) status.seconds_left = seconds_left;
  for (const auto& [rank, share] : shares_) ++status.worker_states[share.state];
  for (const int rank : ranks_to_tell_of()) {
    const WorkerShare& share = shares_.at(rank);
    WorkerStatus worker{rank,
                        share.worker.host,
                        share.worker.device,
                        share.worker.threads,
                        share.plans,
                        std::chrono::duration<double>(runtime_.now() - share.heard).count(),
                        share.state,
                        {},
                        share.gpu_now,
                        share.running_plans};
    for (const PlanProgress& plan : share.running)
      worker.running.push_back(
          {facts_.ids->at(plan.index), plan.iterations, plan.delta, plan.seconds});
    status.workers.push_back(std::move(worker));
  }
  return status;
}

/// In order. Of many, those about which one would ask.
std::vector<int> RunMonitor::ranks_to_tell_of() const {
  const auto now = runtime_.now();
  std::vector<std::pair<double, int>> found;  // the less, the more to be told of
  for (const auto& [rank, share] : shares_) {
    double concern = std::chrono::duration<double>(now - share.heard).count();
    for (const PlanProgress& plan : share.running) concern = std::max(concern, plan.seconds);
    if (share.state == "lost") concern = std::numeric_limits<double>::infinity();
    if (share.state == "left") concern = 0;
    found.emplace_back(-concern, rank);
  }
  const std::size_t told = std::min(found.size(), most_workers_told);
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(told);
  std::partial_sort(found.begin(), end, found.end());
  std::vector<int> ranks;
  for (auto each = found.begin(); each != end; ++each) ranks.push_back(each->second);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void RunMonitor::flush_events() {
  if (!events_) return;
  try {
    events_->flush();
  } catch (const RunError& error) {
    logger_->warn("{}; the run goes on without it", error.what());
    events_.reset();
  }
}

void RunMonitor::on_tick(double seconds_left) {
  flush_events();
  const auto now = runtime_.now();
  constexpr std::chrono::milliseconds all_at_once{300};  // about so long others take longer
  if (now - last_ready_ >= all_at_once) show_workers();
  if (now - status_written_ >= status_interval) {
    status_written_ = now;
    live_status_.write(status(state_, seconds_left));
  }
  const std::chrono::duration<double> interval =
      style_ == ProgressStyle::bar ? std::chrono::duration<double>(bar_interval)
                                   : std::chrono::duration<double>(line_interval_s(elapsed_s()));
  if (now - shown_ < interval) return;
  shown_ = now;
  if (style_ == ProgressStyle::bar) line_.show(progress_text(seconds_left));
  if (style_ == ProgressStyle::lines) logger_->info("{}", progress_text(seconds_left));
}

std::string RunMonitor::progress_text(double seconds_left) const {
  const std::size_t done = tally_.total - tally_.left();
  const std::string left =
      std::isfinite(seconds_left) ? fmt::format(", {} left", duration_text(seconds_left)) : "";
  const double plans_per_s = static_cast<double>(tally_.solved) / elapsed_s();
  const std::string rate = plans_per_s > 0 ? ", " + rate_text(plans_per_s) : "";
  std::string text = fmt::format("{} of {} plans{}, {} failed{}", done, tally_.total, rate,
                                 tally_.failed + tally_.given_up, left);
  if (style_ != ProgressStyle::bar) return text;
  constexpr std::size_t widest = 30;
  constexpr std::size_t least = 5;  // a shorter one says nothing
  constexpr std::size_t frame = 3;
  if (StatusLine::room() < text.size() + frame + least) return text;
  const std::size_t width = std::min(widest, StatusLine::room() - text.size() - frame);
  const std::size_t filled = tally_.total == 0 ? width : width * done / tally_.total;
  return fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '.'), text);
}

void RunMonitor::finish(const std::string& event) {
  line_.clear();
  show_workers();
  std::vector<std::vector<std::string>> rows{{"rank", "host", "plans", "CPU time", "busy"}};
  for (const auto& [rank, share] : shares_) {
    const double available_s =
        elapsed_s() * static_cast<double>(std::max<std::size_t>(1, share.worker.threads));
    rows.push_back({fmt::format("{}", rank), share.worker.host, fmt::format("{}", share.plans),
                    duration_text(share.spent.cpu_seconds()),
                    fmt::format("{:.0f} %", 100 * share.spent.seconds() / available_s)});
  }
  if (shares_.size() == 1) {
    const std::vector<std::string>& only = rows.back();
    logger_->info("threads were busy {} of the time", only[4]);
  } else if (!shares_.empty()) {
    for (const std::string& row : table_lines("rlrrr", rows)) logger_->info("{}", row);
  }
  if (odd_temperatures_ > 1)
    logger_->warn("{} plans have temperatures that are hardly °C", odd_temperatures_);
  if (early_stops_ > 1) logger_->warn("{} plans are {}", early_stops_, far_from_steady);
  for (const std::string& row : gpu_table()) logger_->info("{}", row);
  if (!events_) return;
  for (const auto& [rank, share] : shares_)
    if (share.gpu.samples > 0) events_->gpu_usage(share.worker, share.gpu, share.plans);
  events_->run(event);
  flush_events();
}

}  // namespace wallheat
