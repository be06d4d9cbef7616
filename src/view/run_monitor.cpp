#include "view/run_monitor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/answer.hpp"
#include "core/plural.hpp"
#include "view/advice.hpp"
#include "view/bytes_text.hpp"
#include "view/terminal.hpp"
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

std::string gpu_text(const WorkerFacts& worker) {
  if (!worker.gpu) return "";
  return fmt::format(
      "  GPU {}: {}, {:.0f} GiB, {}", worker.gpu->ordinal, worker.gpu->uuid,
      static_cast<double>(worker.gpu->memory_bytes) / (1 << 30),
      worker.gpu->numa < 0 ? "NUMA node unknown" : fmt::format("NUMA node {}", worker.gpu->numa));
}

std::string cpus_text(const WorkerFacts& worker) {
  return cpu_list(worker.bound_cpus) + gpu_text(worker) +
         (worker.shares_cores ? "  (shared: more workers than cores)" : "");
}

}  // namespace

RunMonitor::RunMonitor(Log& log, ProgressStyle style, std::optional<EventLog> events,
                       RunStatus status, IdOf id_of, const RunTally& start, LiveStatus& live_status,
                       bool has_ranks, std::function<Clock::time_point()> now)
    : log_(log),
      style_(style),
      events_(std::move(events)),
      status_(std::move(status)),
      id_of_(std::move(id_of)),
      tally_(start),
      live_status_(live_status),
      has_ranks_(has_ranks),
      now_(std::move(now)) {
  if (events_) events_->run("run_started");
  status_.state = "running";
  // A launcher watches for it.
  live_status_.write(this->status(status_.state, std::numeric_limits<double>::quiet_NaN()));
}

void RunMonitor::hear(const Event& event, const PlanResult& row) {
  say(event, row);  // first: it tells of what a plan was before
  follow(event, row);
  tally_.failed = tally_.failed_plans.size();
  if (events_) events_->add(event, row);
}

double RunMonitor::seconds_since(Clock::time_point time) const {
  return std::chrono::duration<double>(now_() - time).count();
}

RunMonitor::WorkerShare& RunMonitor::share_of(int rank) {
  const auto [share, is_new] = shares_.try_emplace(rank);
  if (is_new) {
    share->second.status.rank = rank;
    share->second.status.state = "working";
    share->second.heard = now_();
  }
  return share->second;
}

std::vector<std::string> RunMonitor::worker_table(bool with_memory) const {
  if (ready_.empty()) return {};
  std::vector<std::vector<std::string>> rows{{worker_word_, "host", "device", "threads", "cpus"}};
  for (const auto& [rank, facts] : ready_)
    rows.push_back({fmt::format("{}", rank), facts.host, facts.device,
                    fmt::format("{}", facts.lanes), cpus_text(facts)});
  if (!with_memory) return table_lines("rllrl", rows);
  rows.front().insert(rows.front().begin() + 4, "memory");
  for (std::size_t i = 0; i < ready_.size(); ++i)
    rows[i + 1].insert(rows[i + 1].begin() + 4,
                       peak_memory_text(shares_.at(ready_[i].rank).status.peak_memory));
  return table_lines("rllrrl", rows);
}

std::string RunMonitor::name_of(int rank, const std::string& host) const {
  return fmt::format("{} {}{}", worker_word_, rank, host.empty() ? "" : " on " + host);
}

/// Those that got ready since the last time; the first time with the table's head.
void RunMonitor::show_workers() {
  if (shown_workers_ == ready_.size()) return;
  std::sort(ready_.begin() + static_cast<std::ptrdiff_t>(shown_workers_), ready_.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  const std::vector<std::string> table = worker_table(false);
  if (ready_.size() == 1) {
    const WorkerFacts& only = ready_.front().facts;
    log_.info("{} of {} on {}, cpus {}", counted(only.lanes, "thread"), only.device, only.host,
              cpus_text(only));
  } else {
    if (shown_workers_ <= 1) log_.info("{}", table.front());
    for (std::size_t row = shown_workers_; row < ready_.size(); ++row)
      log_.info("{}", table[row + 1]);
  }
  std::map<std::string, std::vector<int>> without_gpu;  // reason -> ranks
  std::map<std::string, std::vector<int>> limited;      // clause -> ranks
  for (; shown_workers_ < ready_.size(); ++shown_workers_) {
    const auto& [rank, facts] = ready_[shown_workers_];
    if (!facts.no_gpu.empty()) without_gpu[facts.no_gpu].push_back(rank);
    if (!facts.limit.empty()) limited[facts.limit].push_back(rank);
  }
  const auto of = [this](const std::vector<int>& ranks) {
    if (!has_ranks_ && ready_.size() == 1) return std::string();
    return fmt::format("{} {}: ", worker_word_, cpu_list(ranks));
  };
  for (const auto& [reason, ranks] : without_gpu) log_.info("{}on the CPU: {}", of(ranks), reason);
  for (const auto& [clause, ranks] : limited) log_.warn("{}{}", of(ranks), clause);
}

void RunMonitor::say(const Event& event, const PlanResult& result) {
  const auto worker = [&] { return name_of(event.worker->rank, event.worker->facts.host); };
  switch (event.kind) {
    case Event::Kind::stored:
    case Event::Kind::lost:
      return say(result);
    case Event::Kind::failed_try:
      return log_.warn("plan {} failed (failure {}, to be tried again): {}", result.id,
                       result.failures, result.error);
    case Event::Kind::conflict:
      return log_.log(LogLevel::err, "plan {}: {}", result.id, result.error);
    case Event::Kind::worker_left:
      return log_.info("{} has left: {}", worker(), event.reason);
    case Event::Kind::worker_lost:
      return log_.warn("{} is lost (silent for {}); its plans go to others", worker(),
                       duration_text(event.seconds));
    case Event::Kind::worker_back:
      return log_.warn("{} has been heard again and gets work", worker());
    case Event::Kind::stopping:
      return log_.warn("stopping ({}): abandoning the plans at hand, storing the rest",
                       event.reason);
    case Event::Kind::abandoned:
      return log_.log(LogLevel::debug,
                      "plan {} is abandoned at iteration {} after {}; it was started {} in all",
                      result.id, event.last.iterations, duration_text(event.last.seconds),
                      counted(static_cast<std::size_t>(result.attempts), "time"));
    case Event::Kind::heard:
      for (const PlanProgress& plan : event.report->running)
        log_.log(LogLevel::trace, "{}: plan {} for {}, iteration {}, delta {:.3g}", worker(),
                 id_of_(plan.plan), duration_text(plan.seconds), plan.iterations, plan.delta);
      return;
    default:
      return;
  }
}

void RunMonitor::say(const PlanResult& stored) {
  if (stored.status == PlanStatus::failed)
    return log_.warn("plan {} failed: {}", stored.id, stored.error);
  if (tally_.failed_plans.contains(stored.index))
    log_.info("plan {}, which had failed, is answered after all by {}", stored.id,
              name_of(stored.rank, stored.host));
  constexpr double hardly_celsius = 100;            // either way; a plan in kelvin is far above
  const double mean = stored.statistics.mean_temp;  // NaN where there is no room
  const double deviation = stored.statistics.std_temp;
  const bool is_odd = std::abs(mean) > hardly_celsius || deviation > hardly_celsius;
  if (is_odd && ++odd_temperatures_ == 1)
    log_.warn(
        "plan {} has a mean temperature of {:.6g} and a standard deviation of {:.6g}: that is "
        "hardly °C; see that its walls and start values are (said once)",
        stored.id, mean, deviation);
  if (is_far_from_steady(stored) && ++early_stops_ == 1)
    log_.warn("plan {} stopped after {} iterations, {} (said once)", stored.id, stored.iterations,
              far_from_steady);
  log_.log(LogLevel::debug, "plan {}: {} after {} iterations in {:.3f} s by {} {}", stored.id,
           to_string(stored.status), stored.iterations, stored.seconds, worker_word_, stored.rank);
}

/// A result is spent time of the run, and of who gave it.
void RunMonitor::spend(const PlanResult& row) {
  tally_.spent.add(row);
  share_of(row.rank).spent.add(row);
}

/// What has become of plans, and what each worker, and the run, is at.
void RunMonitor::follow(const Event& event, const PlanResult& row) {
  switch (event.kind) {
    case Event::Kind::stored:
      ++share_of(row.rank).status.plans;
      if (const DeviceTimes& times = event.device_times; !times.kernel.empty()) {
        kernels_.add(times);
        gpu_seconds_.add(times, static_cast<double>(row.phases.solve_s));
      }
      [[fallthrough]];
    case Event::Kind::lost:
      spend(row);
      if (row.status == PlanStatus::failed) {
        tally_.failed_seconds += row.seconds;
        tally_.failed_plans.insert(row.index);
      } else {
        ++tally_.solved;
        tally_.failed_plans.erase(row.index);
      }
      return;
    case Event::Kind::failed_try:
      ++tally_.failed_tries;
      tally_.failed_seconds += row.seconds;
      return spend(row);
    case Event::Kind::repeated:
      tally_.repeated_seconds += row.seconds;
      return spend(row);
    case Event::Kind::conflict:
      --tally_.solved;
      tally_.failed_plans.insert(row.index);
      return;
    case Event::Kind::abandoned:
      tally_.abandoned_seconds += event.last.seconds;
      abandoned_.push_back(event);
      return;
    case Event::Kind::worker_ready: {
      ready_.push_back(*event.worker);
      last_ready_ = now_();
      WorkerStatus& status = share_of(event.worker->rank).status;
      status.host = event.worker->facts.host;
      status.device = event.worker->facts.device;
      status.threads = event.worker->facts.lanes;
      status.gpu.reset();
      status.state = "working";
      return;
    }
    case Event::Kind::worker_back:
      share_of(event.worker->rank).status.state = "working";
      return;
    case Event::Kind::worker_left:
      // One that never got ready, as it was refused, has no row.
      if (shares_.contains(event.worker->rank)) share_of(event.worker->rank).status.state = "left";
      return;
    case Event::Kind::worker_lost:
      share_of(event.worker->rank).status.state = "lost";
      return;
    case Event::Kind::heard:
      return follow(share_of(event.worker->rank), *event.report);
    case Event::Kind::stopping:
      status_.state = "draining";
      return;
    default:
      return;
  }
}

void RunMonitor::follow(WorkerShare& share, const WorkerReport& report) {
  share.heard = now_();
  WorkerStatus& status = share.status;
  const std::vector<PlanProgress>& running = report.running;
  status.running_plans = running.size();
  std::vector<PlanProgress> longest(std::min(running.size(), most_running_told));
  std::partial_sort_copy(running.begin(), running.end(), longest.begin(), longest.end(),
                         [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  status.running.clear();
  for (const PlanProgress& plan : longest)
    status.running.push_back({id_of_(plan.plan), plan.iterations, plan.delta, plan.seconds});
  if (status.state == "working" || status.state == "idle")
    status.state = running.empty() ? "idle" : "working";
  status.peak_memory = std::max(status.peak_memory, report.peak_memory);
  if (!report.gpu) return;
  share.gpu.add(*report.gpu);
  status.gpu = report.gpu;
}

Attributes RunMonitor::session_attributes(std::int64_t peak_memory) const {
  std::size_t threads = 0;
  std::size_t plans_at_once = 0;  // threads of CPU workers, and one for each GPU
  for (const auto& [rank, facts] : ready_) {
    threads += facts.lanes;
    plans_at_once += facts.device.starts_with("cpu") ? facts.lanes : 1;
  }
  std::string memory = peak_memory > 0 ? fmt::format("0:{}", peak_memory) : "";
  for (const auto& [rank, share] : shares_)
    if (share.status.peak_memory > 0)
      memory += fmt::format("{}{}:{}", memory.empty() ? "" : " ", rank, share.status.peak_memory);
  const auto seconds = [](double value) { return fmt::format("{:.3f}", value); };
  Attributes attributes{{"workers", fmt::format("{}", fmt::join(worker_table(true), "\n"))},
                        {"rank_memory", memory},
                        {"restored", std::to_string(tally_.restored)},
                        {"solved", std::to_string(tally_.solved)},
                        {"failed", std::to_string(tally_.failed)},
                        {"seconds", seconds(elapsed_s())},
                        {"threads", std::to_string(threads)},
                        {"plans_at_once", std::to_string(plans_at_once)},
                        {"failed_seconds", seconds(tally_.failed_seconds)},
                        {"repeated_seconds", seconds(tally_.repeated_seconds)},
                        {"abandoned_seconds", seconds(tally_.abandoned_seconds)}};
  for (const auto& [name, part] : gpu_seconds_names)
    if (gpu_seconds_.all() > 0) attributes[name] = seconds(gpu_seconds_.*part);
  if (const auto gpus = gpu_table(); !gpus.empty())
    attributes["gpus"] = fmt::format("{}", fmt::join(gpus, "\n"));
  if (const auto kernels = kernels_.table(); !kernels.empty())
    attributes["kernels"] = fmt::format("{}", fmt::join(kernels, "\n"));
  return attributes;
}

std::vector<std::string> RunMonitor::gpu_table() const {
  std::vector<std::string> table;
  for (const auto& [rank, share] : shares_) {
    if (share.gpu.samples == 0) continue;
    if (table.empty()) table.push_back(gpu_header(worker_word_));
    table.push_back(gpu_row(rank, share.status.host, share.gpu, share.status.plans));
  }
  return table;
}

RunStatus RunMonitor::status(const std::string& state, double seconds_left) const {
  RunStatus status = status_;
  status.written_utc = utc_now();
  status.state = state;
  status.total = tally_.total;
  status.restored = tally_.restored;
  status.solved = tally_.solved;
  status.failed = tally_.failed;
  status.left = tally_.left();
  status.plans_per_s = plans_per_s();
  if (std::isfinite(seconds_left)) status.seconds_left = seconds_left;
  for (const auto& [rank, share] : shares_) {
    ++status.worker_states[share.status.state];
    if (share.status.state == "working") status.running += share.status.running_plans;
  }
  status.running = std::min(status.running, status.left);  // some run twice
  for (const int rank : ranks_to_tell_of()) {
    const WorkerShare& share = shares_.at(rank);
    status.workers.push_back(share.status);
    status.workers.back().last_heard_s = seconds_since(share.heard);
  }
  return status;
}

/// In order. Of many, those about which one would ask.
std::vector<int> RunMonitor::ranks_to_tell_of() const {
  std::vector<std::pair<double, int>> found;  // the less, the more to be told of
  for (const auto& [rank, share] : shares_) {
    double concern = seconds_since(share.heard);
    for (const RunningPlan& plan : share.status.running) concern = std::max(concern, plan.seconds);
    if (share.status.state == "lost") concern = std::numeric_limits<double>::infinity();
    if (share.status.state == "left") concern = 0;
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
    log_.warn("{}; the run goes on without it", error.what());
    events_.reset();
  }
}

void RunMonitor::tick(double seconds_left) {
  flush_events();
  const auto now = now_();
  constexpr std::chrono::milliseconds all_at_once{300};  // about so long others take longer
  if (now - last_ready_ >= all_at_once) show_workers();
  if (now - status_written_ >= status_interval) {
    status_written_ = now;
    live_status_.write(status(status_.state, seconds_left));
  }
  const std::chrono::duration<double> interval =
      style_ == ProgressStyle::bar ? std::chrono::duration<double>(bar_interval)
                                   : std::chrono::duration<double>(line_interval_s(elapsed_s()));
  if (now - shown_ < interval) return;
  shown_ = now;
  if (style_ == ProgressStyle::bar) log_.show_bar(progress_text(seconds_left));
  if (style_ == ProgressStyle::lines) log_.info("{}", progress_text(seconds_left));
}

std::string RunMonitor::rate_text() const {
  const double rate = plans_per_s();
  if (!rate_unit_ && rate > 0) rate_unit_ = rate_unit(rate);
  return wallheat::rate_text(rate, rate_unit_.value_or(RateUnit::plans_per_s));
}

std::string RunMonitor::progress_text(double seconds_left) const {
  const std::size_t done = tally_.total - tally_.left();
  const std::string left =
      std::isfinite(seconds_left) ? fmt::format(", {} left", duration_text(seconds_left)) : "";
  const std::string rate = tally_.solved > 0 ? ", " + rate_text() : "";
  std::string text = fmt::format("{} of {}{}, {} failed{}", done, counted(tally_.total, "plan"),
                                 rate, tally_.failed + tally_.given_up, left);
  if (style_ != ProgressStyle::bar) return text;
  constexpr std::size_t widest = 30;
  constexpr std::size_t least = 5;  // a shorter one says nothing
  constexpr std::size_t frame = 3;
  if (bar_room() < text.size() + frame + least) return text;
  const std::size_t width = std::min(widest, bar_room() - text.size() - frame);
  const std::size_t filled = tally_.total == 0 ? width : width * done / tally_.total;
  return fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '.'), text);
}

void RunMonitor::finish(const std::string& event) {
  finished_ = now_();
  log_.show_bar("");
  show_workers();
  std::vector<std::vector<std::string>> rows{
      {worker_word_, "host", "plans", "CPU time", "busy", "memory"}};
  for (const auto& [rank, share] : shares_) {
    const double available_s =
        elapsed_s() * static_cast<double>(std::max<std::size_t>(1, share.status.threads));
    rows.push_back({fmt::format("{}", rank), share.status.host,
                    fmt::format("{}", share.status.plans), duration_text(share.spent.cpu_seconds()),
                    fmt::format("{:.0f} %", 100 * share.spent.seconds() / available_s),
                    peak_memory_text(share.status.peak_memory)});
  }
  if (shares_.size() == 1) {
    const std::vector<std::string>& only = rows.back();
    log_.info("threads were busy {} of the time", only[4]);
  } else if (!shares_.empty()) {
    for (const std::string& row : table_lines("rlrrrr", rows)) log_.info("{}", row);
  }
  if (odd_temperatures_ > 1)
    log_.warn("{} plans have temperatures that are hardly °C", odd_temperatures_);
  if (early_stops_ > 1) log_.warn("{} plans are {}", early_stops_, far_from_steady);
  for (const std::string& row : gpu_table()) log_.info("{}", row);
  for (const std::string& row : kernels_.table()) log_.info("{}", row);
  if (const GpuSeconds& spent = gpu_seconds_; spent.all() > 0)
    log_.info(
        "of the {} that threads were at plans on GPUs: kernels {:.0f} %, upload {:.0f} %, download "
        "{:.0f} %, the host's work {:.0f} %, waiting for the driver {:.0f} %",
        duration_text(spent.all()), 100 * spent.kernel / spent.all(),
        100 * spent.upload / spent.all(), 100 * spent.download / spent.all(),
        100 * spent.host / spent.all(), 100 * spent.waiting / spent.all());
  if (!events_) return;
  for (const auto& [rank, share] : shares_)
    if (share.gpu.samples > 0) events_->gpu_usage(share.status, share.gpu);
  events_->run(event);
  flush_events();
}

}  // namespace wallheat
