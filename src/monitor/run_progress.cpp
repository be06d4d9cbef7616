#include "monitor/run_progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "view/terminal.hpp"
#include "view/time_text.hpp"

namespace wallheat {

void SolverTime::add(const PlanResult& result) {
  seconds_ += result.seconds;
  if (std::isnan(result.cpu_s)) return;
  known_s_ += result.seconds;
  cpu_s_ += result.cpu_s;
  if (!result.device.starts_with("cpu")) return;
  on_cpus_s_ += result.seconds;
  of_cpus_s_ += result.cpu_s;
}

double SolverTime::cpu_seconds() const {
  return known_s_ > 0 ? cpu_s_ : std::numeric_limits<double>::quiet_NaN();
}

bool SolverTime::cores_were_shared() const {
  constexpr double min_s = 1;  // in less time, the clock tick of the system is significant
  return on_cpus_s_ > min_s && of_cpus_s_ < 0.8 * on_cpus_s_;
}

std::string SolverTime::text() const {
  if (!(known_s_ > 0)) return fmt::format("{} of solver threads", duration_text(seconds_));
  const std::string cpu = fmt::format("{} of CPU time", duration_text(cpu_s_));
  if (cores_were_shared())
    return fmt::format("{} in {} of solver threads, which shared their cores with other processes",
                       cpu, duration_text(seconds_));
  return cpu;
}

std::string compress_ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    runs.push_back(end == i + 1 ? fmt::format("{}", numbers[i])
                                : fmt::format("{}-{}", numbers[i], numbers[end - 1]));
    i = end;
  }
  return fmt::format("{}", fmt::join(runs, ","));
}

std::string binding_text(const WorkerProperties& worker) {
  std::string text = compress_ranges(worker.bound_cpus);
  if (const auto& gpu = worker.gpu)
    text +=
        fmt::format("  GPU {}: {}, {:.0f} GiB, {}", gpu->ordinal, gpu->uuid,
                    static_cast<double>(gpu->memory_bytes) / (1 << 30),
                    gpu->numa < 0 ? "NUMA node unknown" : fmt::format("NUMA node {}", gpu->numa));
  return text + (worker.shares_cores ? "  (shared: more workers than cores)" : "");
}

RunProgress::RunProgress(const RunTally& start, IdOf id_of, bool has_ranks,
                         std::function<Clock::time_point()> now)
    : tally_(start), id_of_(std::move(id_of)), has_ranks_(has_ranks), now_(std::move(now)) {}

RunProgress::Worker& RunProgress::worker(int rank) {
  const auto [found, is_new] = workers_.try_emplace(rank);
  if (is_new) {
    found->second.status.rank = rank;
    found->second.status.state = "working";
    found->second.has_reported = now_();
  }
  return found->second;
}

/// The time of a result counts for the run and for the worker that sent it.
void RunProgress::add_time_spent(const PlanResult& row) {
  tally_.spent.add(row);
  worker(row.rank).spent.add(row);
}

void RunProgress::on_event(const Event& event, const PlanResult& row) {
  program_start_s_ += event.program_start_s;
  switch (event.kind) {
    case Event::Kind::finished:
      ++worker(row.rank).status.plans;
      if (const GpuPlanTimes& times = event.gpu_times; !times.kernel.empty()) {
        kernel_s_[times.kernel].add(times.kernel_s);
        gpu_times_.add(times, static_cast<double>(row.phases.solve_s));
      }
      [[fallthrough]];
    case Event::Kind::plan_given_up:
      add_time_spent(row);
      if (row.status == PlanStatus::failed) {
        tally_.failed_seconds += row.seconds;
        tally_.failed_plans[row.index] = exhausted_resource(row.error);
      } else {
        ++tally_.solved;
        tally_.failed_plans.erase(row.index);
      }
      break;
    case Event::Kind::attempt_failed:
      ++tally_.retried_failures;
      tally_.failed_seconds += row.seconds;
      add_time_spent(row);
      break;
    case Event::Kind::duplicate_result:
      tally_.duplicate_seconds += row.seconds;
      add_time_spent(row);
      break;
    case Event::Kind::conflict:
      --tally_.solved;
      tally_.failed_plans[row.index] = ExhaustedResource::none;
      break;
    case Event::Kind::aborted:
      tally_.aborted_seconds += event.progress.seconds;
      if (event.worker) worker(event.worker->rank).aborted_seconds += event.progress.seconds;
      aborted_.push_back(event);
      break;
    case Event::Kind::worker_ready: {
      ready_.push_back(*event.worker);
      WorkerStatus& status = worker(event.worker->rank).status;
      status.host = event.worker->properties.host;
      status.device = event.worker->properties.device;
      status.threads = event.worker->properties.slots;
      status.gpu.reset();
      status.state = "working";
      break;
    }
    case Event::Kind::worker_recovered:
      worker(event.worker->rank).status.state = "working";
      break;
    case Event::Kind::worker_departed:
    case Event::Kind::worker_excluded:
      // A worker that never became ready, because it is incompatible, is not in the list.
      if (workers_.contains(event.worker->rank)) worker(event.worker->rank).status.state = "left";
      break;
    case Event::Kind::worker_lost:
      worker(event.worker->rank).status.state = "lost";
      break;
    case Event::Kind::worker_report:
      on_report(worker(event.worker->rank), *event.report);
      break;
    case Event::Kind::started:
    case Event::Kind::stopping:
      break;
  }
  tally_.failed = tally_.failed_plans.size();
}

void RunProgress::on_report(Worker& worker, const WorkerReport& report) {
  worker.has_reported = now_();
  WorkerStatus& status = worker.status;
  const std::vector<PlanProgress>& running = report.running;
  status.running_plans = running.size();
  std::vector<PlanProgress> longest(std::min(running.size(), max_running_listed));
  std::partial_sort_copy(running.begin(), running.end(), longest.begin(), longest.end(),
                         [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  status.running.clear();
  for (const PlanProgress& plan : longest)
    status.running.push_back({id_of_(plan.plan), plan.iterations, plan.delta, plan.seconds});
  if (status.state == "working" || status.state == "idle")
    status.state = running.empty() ? "idle" : "working";
  status.peak_memory = std::max(status.peak_memory, report.peak_memory);
  if (!report.gpu_sample) return;
  // A sample of an idle GPU, as taken when the worker becomes ready, would distort the means of a
  // short run.
  if (!running.empty()) worker.gpu.add(*report.gpu_sample);
  status.gpu = report.gpu_sample;
}

void RunProgress::fill_status(RunStatus& status) const {
  status.total = tally_.total;
  status.restored = tally_.restored;
  status.solved = tally_.solved;
  status.failed = tally_.failed;
  status.left = tally_.remaining();
  status.plans_per_s = plans_per_s();
  for (const auto& [rank, worker] : workers_) {
    ++status.worker_states[worker.status.state];
    if (worker.status.state == "working") status.running += worker.status.running_plans;
  }
  status.running = std::min(status.running, status.left);  // because of speculative copies
  for (const int rank : ranks_to_list()) {
    const Worker& worker = workers_.at(rank);
    status.workers.push_back(worker.status);
    status.workers.back().last_heard_s = seconds_since(worker.has_reported, now_());
  }
}

/// Returns the ranks to list, in ascending order. If there are too many, chooses those that are
/// most likely to have a problem.
std::vector<int> RunProgress::ranks_to_list() const {
  std::vector<std::pair<double, int>> found;  // negative concern, rank
  for (const auto& [rank, worker] : workers_) {
    double concern = seconds_since(worker.has_reported, now_());
    for (const RunningPlan& plan : worker.status.running) concern = std::max(concern, plan.seconds);
    if (worker.status.state == "lost") concern = std::numeric_limits<double>::infinity();
    if (worker.status.state == "left") concern = 0;
    found.emplace_back(-concern, rank);
  }
  const std::size_t shown = std::min(found.size(), max_workers_listed);
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(shown);
  std::partial_sort(found.begin(), end, found.end());
  std::vector<int> ranks;
  for (auto each = found.begin(); each != end; ++each) ranks.push_back(each->second);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Attributes RunProgress::session_attributes(std::int64_t peak_memory) const {
  std::size_t threads = 0;
  std::size_t plans_at_once = 0;  // threads of CPU workers, and one for each GPU
  std::string memory = peak_memory > 0 ? fmt::format("0:{}", peak_memory) : "";
  for (const auto& [rank, worker] : workers_) {
    const WorkerStatus& status = worker.status;
    threads += status.threads;
    plans_at_once += status.device.starts_with("cpu") ? status.threads
                                                      : std::min<std::size_t>(status.threads, 1);
    if (status.peak_memory > 0)
      memory += fmt::format("{}{}:{}", memory.empty() ? "" : " ", rank, status.peak_memory);
  }
  const auto seconds = [](double value) { return fmt::format("{:.3f}", value); };
  Attributes attributes{{"rank_memory", memory},
                        {"restored", std::to_string(tally_.restored)},
                        {"solved", std::to_string(tally_.solved)},
                        {"failed", std::to_string(tally_.failed)},
                        {"seconds", seconds(elapsed_s())},
                        {"threads", std::to_string(threads)},
                        {"plans_at_once", std::to_string(plans_at_once)},
                        {"failed_seconds", seconds(tally_.failed_seconds)},
                        {"repeated_seconds", seconds(tally_.duplicate_seconds)},
                        {"abandoned_seconds", seconds(tally_.aborted_seconds)}};
  if (program_start_s_ > 0) attributes["program_start_seconds"] = seconds(program_start_s_);
  for (const GpuTimeCategory& part : gpu_time_categories)
    if (gpu_times_.total() > 0) attributes[part.name] = seconds(gpu_times_.*part.seconds);
  std::vector<WorkerInfo> ready = ready_;
  std::ranges::stable_sort(ready, {}, &WorkerInfo::rank);
  for (const auto& [name, table] : {std::pair("workers", worker_table(ready)),
                                    {"gpus", gpu_table()},
                                    {"kernels", kernel_table()}})
    if (!table.empty()) attributes[name] = fmt::format("{}", fmt::join(table, "\n"));
  return attributes;
}

std::vector<std::string> RunProgress::worker_table(const std::vector<WorkerInfo>& workers) const {
  std::vector<std::vector<std::string>> rows{{worker_label(), "host", "device", "threads", "cpus"}};
  for (const auto& [rank, properties] : workers)
    rows.push_back({fmt::format("{}", rank), properties.host, properties.device,
                    fmt::format("{}", properties.slots), binding_text(properties)});
  if (workers.empty()) return {};
  return table_lines("rllrl", rows);
}

std::vector<std::string> RunProgress::work_table() const {
  std::vector<std::vector<std::string>> rows{
      {worker_label(), "host", "plans", "CPU time", "busy", "memory"}};
  for (const auto& [rank, worker] : workers_)
    rows.push_back(
        {fmt::format("{}", rank), worker.status.host, fmt::format("{}", worker.status.plans),
         duration_text(worker.spent.cpu_seconds()), fmt::format("{:.0f} %", busy_pct(worker)),
         peak_memory_text(worker.status.peak_memory)});
  return table_lines("rlrrrr", rows);
}

double RunProgress::busy_pct(const Worker& worker) const {
  const double threads = static_cast<double>(std::max<std::size_t>(1, worker.status.threads));
  return 100 * (worker.spent.seconds() + worker.aborted_seconds) / (elapsed_s() * threads);
}

std::vector<std::string> RunProgress::gpu_table() const {
  std::vector<std::vector<std::string>> rows{{worker_label(), "GPU of", "busy %", "memory GB",
                                              "power W", "°C", "clock MHz", "energy J", "plans",
                                              "J/plan"}};
  for (const auto& [rank, worker] : workers_) {
    const GpuUsage& gpu = worker.gpu;
    const std::size_t plans = worker.status.plans;
    if (gpu.samples > 0)
      rows.push_back({fmt::format("{}", rank), worker.status.host, table_cell(gpu.utilisation_pct),
                      table_cell(gpu.memory_used_bytes.max() * 1e-9, 1), table_cell(gpu.power_w),
                      table_cell(gpu.temperature_c.max()), table_cell(gpu.sm_clock_mhz.mean()),
                      table_cell(gpu.energy_j), fmt::format("{}", plans),
                      table_cell(energy_per_plan(gpu, plans), 2)});
  }
  if (rows.size() == 1) return {};
  return table_lines("rlrrrrrrrr", rows);
}

}  // namespace wallheat
