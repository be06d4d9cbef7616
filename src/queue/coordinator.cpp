#include "queue/coordinator.hpp"

#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "queue/stopwatch.hpp"
#include "queue/work_queue.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_interval{5};
// mpirun kills its ranks soon after it was told to stop: abandoned plans must not be waited for
// long.
constexpr std::chrono::seconds stop_patience{10};
// A batch of results is stored together once no more are at hand, or at this many.
constexpr std::size_t largest_batch = 1024;

/// True where two answers to the same plan are the same to the last bit.
bool same_answer(const PlanResult& a, const PlanResult& b) {
  const auto same_bits = [](double one, double other) {
    return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
  };
  return a.status == b.status && a.iterations == b.iterations &&
         a.interior_cells == b.interior_cells && a.rows == b.rows && a.cols == b.cols &&
         a.input_hash == b.input_hash && a.field == b.field &&
         same_bits(a.last_delta, b.last_delta) &&
         same_bits(a.statistics.mean_temp, b.statistics.mean_temp) &&
         same_bits(a.statistics.std_temp, b.statistics.std_temp) &&
         same_bits(a.statistics.pct_above_18, b.statistics.pct_above_18) &&
         same_bits(a.statistics.pct_below_15, b.statistics.pct_below_15);
}

class Coordinator {
 public:
  Coordinator(Link& link, const CoordinatorParts& parts)
      : link_(link),
        parts_(parts),
        queue_(items(parts.plans), {parts.max_attempts, parts.patience.worker_s}) {
    for (const QueuedPlan& plan : parts.plans) plans_[plan.task.index] = plan;
  }

  RunEnd run() {
    place();
    if (stopping_) begin_stop("asked to before the work began");
    while (!queue_.all_finished()) {
      receive();
      take_estimates();
      watch_workers();
      send_orders();
      store();
      parts_.sink->publish();
      parts_.observer->on_tick(queue_.seconds_left());
      if (!stopping_ && parts_.interrupted()) begin_stop("asked to");
      if (!stopping_ && time_left_s() <= 0) begin_stop("the time limit");
      if (stopping_ && (workers_.empty() || Clock::now() > stop_deadline_))
        return RunEnd::interrupted;
      if (workers_.empty() && !queue_.all_finished()) {
        throw RunError("all workers have left, the last because of: " + last_reason_);
      }
    }
    store();  // a last failure may have ended the run
    return RunEnd::finished;
  }

  [[nodiscard]] PredictionQuality prediction_quality() const { return queue_.prediction_quality(); }

 private:
  static std::vector<WorkQueue::Item> items(const std::vector<QueuedPlan>& plans) {
    std::vector<WorkQueue::Item> result;
    for (const QueuedPlan& plan : plans) result.push_back({plan.task.index, plan.failures});
    return result;
  }

  [[nodiscard]] double time_left_s() const {
    return parts_.time_left_s ? parts_.time_left_s() : std::numeric_limits<double>::infinity();
  }

  void send(int worker, const Message& message) { link_.send(worker, encode(message)); }

  /// Collects one message of type T from every rank in `waiting` that does not take leave instead.
  /// A rank that says nothing for too long is done without.
  template <class T, class Take>
  void collect(std::set<int> waiting, const char* what, Take take) {
    const std::chrono::duration<double> patience(parts_.patience.start_s);
    const auto deadline = Clock::now() + patience;
    while (!waiting.empty() && Clock::now() < deadline) {
      const auto envelope = link_.receive(look_interval);
      if (!envelope) continue;
      const Message message = decode(envelope->message);
      if (const auto* wanted = std::get_if<T>(&message)) {
        take(envelope->from, *wanted);
        waiting.erase(envelope->from);
      }
      if (const auto* farewell = std::get_if<Farewell>(&message)) {
        last_reason_ = farewell->reason;
        stopping_ = stopping_ || farewell->interrupted;
        gone_.insert(envelope->from);
        waiting.erase(envelope->from);
        parts_.observer->on_worker_left(placed_worker(envelope->from), farewell->reason);
      }
    }
    for (const int rank : waiting) {
      last_reason_ = "rank " + std::to_string(rank) + " did not " + what + " within " +
                     std::to_string(std::lround(patience.count())) + " s";
      gone_.insert(rank);
      parts_.observer->on_worker_lost(placed_worker(rank), parts_.patience.start_s);
    }
  }

  void place() {
    std::set<int> ranks;
    for (int rank = 1; rank < link_.size(); ++rank) ranks.insert(rank);
    std::vector<int> placed_ranks;
    std::map<int, Machine> machines;
    collect<Hello>(ranks, "report",
                   [&](int rank, const Hello& hello) { machines[rank] = hello.machine; });

    std::vector<Machine> machine_list;
    for (const auto& [rank, machine] : machines) {
      if (gone_.contains(rank)) continue;
      placed_ranks.push_back(rank);
      machine_list.push_back(machine);
    }
    if (placed_ranks.empty() && !stopping_)
      throw RunError("no worker could start: " + last_reason_);
    const auto placements = place_workers(machine_list, parts_.device, parts_.threads_per_worker);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      placed_[placed_ranks[i]] = describe(placed_ranks[i], machine_list[i], placements[i]);
      send(placed_ranks[i], Placed{placements[i]});
    }

    collect<Ready>(
        {placed_ranks.begin(), placed_ranks.end()}, "get ready",
        [&](int rank, const Ready& ready) { workers_[rank] = ready_worker(rank, ready); });
    for (const int rank : gone_) workers_.erase(rank);
    if (workers_.empty() && !stopping_) throw RunError("no worker could start: " + last_reason_);

    std::vector<WorkerInfo> table;
    for (const auto& [rank, worker] : workers_) {
      join(worker);
      table.push_back(worker);
    }
    parts_.observer->on_workers_ready(table);
  }

  /// What is known of a worker once it is placed.
  [[nodiscard]] WorkerInfo describe(int rank, const Machine& machine,
                                    const Placement& placement) const {
    WorkerInfo info{rank, machine.host, "", {}, placement.shared};
    info.limit = placement.limit;
    for (const Gpu& gpu : machine.gpus) {
      if (gpu.ordinal == placement.gpu) info.gpu = gpu;
    }
    if (!info.gpu && parts_.device != DeviceChoice::cpu)
      info.no_gpu = machine.gpus.empty() ? machine.no_gpu : "the others of its host have them all";
    return info;
  }

  /// What is known of a worker before it is ready.
  [[nodiscard]] WorkerInfo placed_worker(int rank) const {
    const auto placed = placed_.find(rank);
    return placed == placed_.end() ? WorkerInfo{rank, "its host", "", {}, false} : placed->second;
  }

  [[nodiscard]] WorkerInfo ready_worker(int rank, const Ready& ready) const {
    WorkerInfo info = placed_worker(rank);
    info.host = ready.host;
    info.device = ready.device;
    info.threads = ready.threads;
    info.bound_cpus = ready.bound_cpus;
    return info;
  }

  void join(const WorkerInfo& worker) {
    queue_.worker_joined(worker.rank, worker.threads, worker.device);
  }

  /// Takes in all messages that are at hand, so that their results are stored together.
  void receive() {
    auto envelope = link_.receive(look_interval);
    while (envelope) {
      const int from = envelope->from;
      hear(from);
      std::visit([&](auto&& message) { on(from, message); }, decode(envelope->message));
      if (batch_.size() >= largest_batch) return;
      envelope = link_.receive(std::chrono::microseconds{0});
    }
  }

  /// Whoever was thought lost and speaks gets work again. What it was told before is taken back, as
  /// others have it now; what it is at may still be the first answer.
  void hear(int worker) {
    queue_.worker_heard(worker);
    const auto lost = lost_.find(worker);
    if (lost == lost_.end()) return;
    parts_.observer->on_worker_back(lost->second);
    join(lost->second);
    workers_[worker] = lost->second;
    lost_.erase(lost);
    send(worker, Recall{std::numeric_limits<std::uint64_t>::max()});
  }

  void on(int worker, Report& report) {
    for (const std::uint32_t plan : report.started) {
      const auto queued = plans_.find(plan);
      if (queued == plans_.end()) continue;
      if (queue_.plan_started(worker, plan)) ++queued->second.attempts;
      if (workers_.contains(worker))
        parts_.observer->on_started(workers_[worker], queued->second.task);
    }
    for (PlanResult& result : report.results) {
      result.rank = worker;
      if (result.status == PlanStatus::failed) {
        take_failure(worker, result);
      } else {
        take_answer(worker, result);
      }
    }
  }

  void take_answer(int worker, PlanResult& result) {
    switch (queue_.plan_finished(worker, result.index, result.seconds)) {
      case WorkQueue::Answer::unknown:
        return;
      case WorkQueue::Answer::repeated:
        compare(result);
        return;
      case WorkQueue::Answer::first:
        break;
    }
    result.attempts = plans_.at(result.index).attempts;
    result.failures = queue_.failures(result.index);
    if (queue_.is_held(result.index)) copied_.emplace(result.index, result);
    batch_.push_back(std::move(result));
  }

  void take_failure(int worker, PlanResult& result) {
    const auto failure = queue_.plan_failed(worker, result.index, result.may_pass);
    if (failure == WorkQueue::Failure::of_a_copy) return;
    result.attempts = plans_.at(result.index).attempts;
    result.failures = queue_.failures(result.index);
    if (failure == WorkQueue::Failure::to_be_tried_again) to_be_tried_again_.insert(result.index);
    batch_.push_back(std::move(result));
  }

  /// The second answer to a plan that was copied for an idle worker.
  void compare(const PlanResult& second) {
    const auto first = copied_.find(second.index);
    if (first == copied_.end() || same_answer(first->second, second)) return;
    store();  // the first answer, if it is still in the batch
    PlanResult failed = first->second;
    const auto place = [](const PlanResult& answer) {
      return "rank " + std::to_string(answer.rank) + " (" + answer.device + " on " + answer.host +
             ")";
    };
    failed.status = PlanStatus::failed;
    failed.error = place(failed) + " and " + place(second) +
                   " gave different answers, so one of these devices is faulty";
    ++failed.failures;
    failed.field.clear();
    copied_.erase(first);
    parts_.sink->store({&failed, 1});
    parts_.observer->on_conflict(failed);
  }

  void on(int worker, const Heartbeat& heartbeat) {
    const auto known = workers_.find(worker);
    if (known == workers_.end()) return;
    parts_.observer->on_heartbeat(known->second, heartbeat.running);
    if (heartbeat.gpu) parts_.observer->on_gpu_sample(known->second, *heartbeat.gpu);
  }

  void on(int worker, const Returned& returned) { queue_.plans_returned(worker, returned.plans); }

  void on(int worker, const Farewell& farewell) {
    last_reason_ = farewell.reason;
    queue_.worker_left(worker);
    if (const auto known = workers_.find(worker); known != workers_.end()) {
      parts_.observer->on_worker_left(known->second, farewell.reason);
      workers_.erase(known);
    }
    // The signal may reach a worker before it reaches rank 0.
    if (farewell.interrupted && !stopping_) begin_stop("asked to");
  }

  /// A worker that nobody waited for any more is ready after all.
  void on(int worker, const Ready& ready) {
    if (workers_.contains(worker)) return;
    const WorkerInfo info = ready_worker(worker, ready);
    workers_[worker] = info;
    join(info);
    parts_.observer->on_worker_back(info);
  }
  // Too late to be placed, or gone for good: neither is a reason to stop the others.
  void on(int, const Hello&) {}
  void on(int, const Goodbye&) {}

  template <class Unexpected>
  void on(int worker, const Unexpected&) {
    throw DecodeError("rank 0 got a message from rank " + std::to_string(worker) + " out of turn");
  }

  void take_estimates() {
    if (!parts_.new_estimates) return;
    for (const auto& [plan, updates] : parts_.new_estimates()) queue_.set_work(plan, updates);
  }

  /// Sends the heartbeat, and gives up workers that are silent.
  void watch_workers() {
    const double passed_s = watch_.lap_s();
    for (const int worker : queue_.time_passed(passed_s)) give_up(worker);
    next_heartbeat_s_ -= passed_s;
    if (next_heartbeat_s_ > 0) return;
    next_heartbeat_s_ = parts_.patience.heartbeat_s();
    for (int rank = 1; rank < link_.size(); ++rank) {
      if (!lost_.contains(rank)) send(rank, Heartbeat{});
    }
  }

  void give_up(int worker) {
    const WorkerInfo info = workers_.at(worker);
    last_reason_ = "rank " + std::to_string(worker) + " on " + info.host + " fell silent";
    lost_[worker] = info;
    workers_.erase(worker);
    parts_.observer->on_worker_lost(info, parts_.patience.worker_s);
    for (const std::uint32_t plan : queue_.worker_lost(worker)) {
      PlanResult result;
      result.index = plan;
      result.id = plans_.at(plan).task.id;
      result.status = PlanStatus::failed;
      result.rank = worker;
      result.host = info.host;
      result.device = info.device;
      result.attempts = plans_.at(plan).attempts;
      result.failures = parts_.max_attempts;
      result.error = "was running at " + std::to_string(parts_.max_attempts) +
                     " workers when they fell silent, last at " + last_reason_;
      batch_.push_back(std::move(result));
    }
  }

  void send_orders() {
    if (stopping_) return;
    const double left_s = time_left_s();
    const auto orders = queue_.orders(left_s);
    if (orders.empty() && queue_.leased() == 0 && !queue_.all_finished() && !workers_.empty() &&
        left_s < std::numeric_limits<double>::infinity()) {
      begin_stop("no plan is left that would end within the time limit");
      return;
    }
    for (const Order& order : orders) {
      if (order.kind == Order::Kind::recall) {
        send(order.worker, Recall{order.count});
        continue;
      }
      Assign assign;
      for (const std::uint32_t plan : order.plans) {
        assign.tasks.push_back(plans_.at(plan).task);
        parts_.observer->on_leased(workers_.at(order.worker), assign.tasks.back());
      }
      send(order.worker, assign);
    }
  }

  void store() {
    if (batch_.empty()) return;
    parts_.sink->store(batch_);
    for (const PlanResult& result : batch_) {
      if (result.status == PlanStatus::failed && to_be_tried_again_.erase(result.index) > 0) {
        parts_.observer->on_failed_try(result);
      } else {
        parts_.observer->on_stored(result);
      }
    }
    batch_.clear();
  }

  void begin_stop(const std::string& reason) {
    stopping_ = true;
    stop_deadline_ = Clock::now() + stop_patience;
    parts_.observer->on_stopping(reason);
    for (const auto& [rank, worker] : workers_) send(rank, Stop{});
  }

  Link& link_;
  const CoordinatorParts& parts_;
  WorkQueue queue_;
  std::unordered_map<std::uint32_t, QueuedPlan> plans_;
  std::map<int, WorkerInfo> placed_;
  std::map<int, WorkerInfo> workers_;
  std::map<int, WorkerInfo> lost_;
  std::set<int> gone_;  // took leave while the workers were placed
  std::vector<PlanResult> batch_;
  std::set<std::uint32_t> to_be_tried_again_;  // failures in the batch that are not the last word
  std::unordered_map<std::uint32_t, PlanResult> copied_;  // first answers that may be repeated
  Stopwatch watch_;
  double next_heartbeat_s_ = 0;
  std::string last_reason_;
  bool stopping_ = false;
  Clock::time_point stop_deadline_;
};

}  // namespace

RunEnd coordinate(Link& link, const CoordinatorParts& parts) {
  Coordinator coordinator(link, parts);
  const RunEnd end = coordinator.run();
  parts.observer->on_predictions_judged(coordinator.prediction_quality());
  return end;
}

std::vector<int> dismiss_workers(Link& link, std::chrono::milliseconds patience) {
  std::set<int> waiting;
  for (int rank = 1; rank < link.size(); ++rank) {
    link.send(rank, encode(Finish{}));
    waiting.insert(rank);
  }
  const auto deadline = Clock::now() + patience;
  while (!waiting.empty() && Clock::now() < deadline) {
    const auto envelope = link.receive(look_interval);
    if (envelope && std::holds_alternative<Goodbye>(decode(envelope->message)))
      waiting.erase(envelope->from);
  }
  for (int rank = 1; rank < link.size(); ++rank) {
    if (!waiting.contains(rank)) link.send(rank, encode(Leave{waiting.empty()}));
  }
  link.flush(patience);
  return {waiting.begin(), waiting.end()};
}

}  // namespace wallheat
