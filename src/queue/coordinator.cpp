#include "queue/coordinator.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "queue/background_thread.hpp"
#include "queue/records.hpp"
#include "queue/stopwatch.hpp"
#include "queue/work_queue.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = Runtime::Clock;

constexpr std::chrono::milliseconds look_interval{5};
// mpirun kills its ranks soon after it was told to stop: abandoned plans must not be waited for
// long.
constexpr std::chrono::seconds stop_timeout{10};
// So many messages are taken in before anything else is looked at.
constexpr std::size_t most_messages = 1024;
constexpr std::uint32_t no_position = std::numeric_limits<std::uint32_t>::max();

/// Shared with what is told about it later.
using WorkerPointer = std::shared_ptr<const WorkerInfo>;

/// Tells all ranks but some that rank 0 lives. By the clock, whatever rank 0 was at in between.
class HeartbeatTimer {
 public:
  HeartbeatTimer(const Runtime& runtime, double interval_s)
      : runtime_(runtime), interval_(interval_s), next_(runtime.now()) {}
  void tell(Link& link, const std::map<int, WorkerInfo>& but_for) {
    const auto now = runtime_.now();
    if (now < next_) return;
    next_ = now + std::chrono::duration_cast<Clock::duration>(interval_);
    for (int rank = 1; rank < link.size(); ++rank)
      if (!but_for.contains(rank)) link.send(rank, encode(CoordinatorHeartbeat{}));
  }

 private:
  const Runtime& runtime_;
  std::chrono::duration<double> interval_;
  Clock::time_point next_;
};

/// How a worker's facts differ from rank 0's, as a clause; empty where they do not.
std::string difference_between(const std::vector<Fact>& here, const std::vector<Fact>& there,
                               const std::string& kind = "") {
  for (std::size_t k = 0; k < std::max(here.size(), there.size()); ++k) {
    if (k == here.size() || k == there.size() || here[k].name != there[k].name)
      return "it speaks of other things, as another version of wallheat would";
    if (here[k].value != there[k].value)
      return "its " + kind + here[k].name + " is " + there[k].value + ", and rank 0's is " +
             here[k].value;
  }
  return "";
}

class Coordinator {
 public:
  Coordinator(Link& link, const CoordinatorParts& parts)
      : link_(link),
        parts_(parts),
        queue_(items(parts.plans), {parts.max_attempts, parts.timeouts.worker_s}),
        watch_(*parts.runtime, parts.timeouts.longest_lap_s()),
        heartbeat_(*parts.runtime, parts.timeouts.heartbeat_s()),
        start_(parts.runtime->now()),
        recorder_(*parts.runtime) {
    std::uint32_t most = 0;
    for (const QueuedPlan& plan : parts.plans) most = std::max(most, plan.task.index);
    positions_.assign(parts.plans.empty() ? 0 : std::size_t{most} + 1, no_position);
    attempts_.reserve(parts.plans.size());
    for (const QueuedPlan& plan : parts.plans) {
      positions_[plan.task.index] = static_cast<std::uint32_t>(attempts_.size());
      attempts_.push_back(plan.attempts);
    }
  }

  RunEnd run() {
    place();
    while (!queue_.all_finished()) {
      receive();
      take_estimates();
      watch_workers();
      send_orders();
      record();
      if (!stop_ && parts_.interrupted()) begin_stop(RunEnd::interrupted, "asked to");
      if (!stop_ && time_left_s() <= 0) begin_stop(RunEnd::out_of_time, "the time limit");
      if (stop_ && (workers_.empty() || now() > stop_deadline_)) break;
      if (workers_.empty() && starting_.empty() && !queue_.all_finished()) {
        if (!source_away_.empty()) {
          begin_stop(RunEnd::source_away, source_away_);
          continue;
        }
        finish_recording();
        throw RunError("all workers have left, the last because of: " + last_reason_);
      }
    }
    const bool stopped = !queue_.all_finished();
    if (stopped) record_abandoned();
    finish_recording();
    return stopped ? *stop_ : RunEnd::finished;
  }

  [[nodiscard]] PredictionQuality prediction_quality() const { return queue_.prediction_quality(); }

 private:
  static std::vector<WorkQueue::Item> items(const std::vector<QueuedPlan>& plans) {
    std::vector<WorkQueue::Item> result;
    result.reserve(plans.size());
    for (const QueuedPlan& plan : plans) result.push_back({plan.task.index, plan.failures});
    return result;
  }

  /// For each plan of a message: another rank may name any number.
  [[nodiscard]] bool is_known(std::uint32_t plan) const {
    return plan < positions_.size() && positions_[plan] != no_position;
  }
  /// Of a known plan.
  [[nodiscard]] const Task& task_of(std::uint32_t plan) const {
    return parts_.plans[positions_[plan]].task;
  }
  [[nodiscard]] std::int32_t& attempts_of(std::uint32_t plan) {
    return attempts_[positions_[plan]];
  }

  [[nodiscard]] Clock::time_point now() const { return parts_.runtime->now(); }

  [[nodiscard]] double elapsed_s() const {
    return parts_.elapsed_s ? parts_.elapsed_s()
                            : std::chrono::duration<double>(now() - start_).count();
  }

  [[nodiscard]] double time_left_s() const {
    return parts_.time_left_s ? parts_.time_left_s() : std::numeric_limits<double>::infinity();
  }

  void send(int worker, const ToWorker& message) { link_.send(worker, encode(message)); }

  /// `event` is called with the observer, later and in another thread.
  template <class Event>
  void observe(Event event) {
    news_.events.emplace_back(std::move(event));
  }

  void place() {
    std::map<int, Machine> machines;
    gather_machines(machines);
    if (stop_) return;
    std::vector<int> ranks;
    std::vector<Machine> machine_list;
    for (const auto& [rank, machine] : machines) {
      ranks.push_back(rank);
      machine_list.push_back(machine);
    }
    if (ranks.empty()) {
      finish_recording();
      throw RunError("no worker could start: " + last_reason_);
    }
    std::vector<std::string> sample_ids;
    for (const Fact& sample : parts_.samples) sample_ids.push_back(sample.name);
    const auto placements = place_workers(machine_list, parts_.device, parts_.threads_per_worker);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      starting_[ranks[i]] = describe(ranks[i], machine_list[i], placements[i]);
      send(ranks[i], Placed{placements[i], sample_ids});
    }
    start_deadline_ = start_deadline();
  }

  [[nodiscard]] Clock::time_point start_deadline() const {
    const std::chrono::duration<double> timeout(parts_.timeouts.start_s);
    return timeout < Clock::time_point::max() - now()
               ? now() + std::chrono::duration_cast<Clock::duration>(timeout)
               : Clock::time_point::max();
  }

  /// The machines of all workers but those that leave instead. One that says nothing for too long
  /// is done without.
  void gather_machines(std::map<int, Machine>& machines) {
    std::set<int> waiting;
    for (int rank = 1; rank < link_.size(); ++rank) waiting.insert(rank);
    const auto deadline = start_deadline();
    while (!waiting.empty() && now() < deadline && !stop_) {
      heartbeat_.tell(link_, {});
      record();
      if (parts_.interrupted()) begin_stop(RunEnd::interrupted, "asked to before the work began");
      const auto envelope = link_.receive(look_interval);
      if (!envelope || refused_.contains(envelope->from)) continue;
      const int from = envelope->from;
      FromWorker message;
      try {
        message = decode_from_worker(envelope->message);
      } catch (const DecodeError&) {
        refuse(unknown_worker(from), "it speaks otherwise, as another version of wallheat would");
        waiting.erase(from);
        continue;
      }
      if (const auto* hello = std::get_if<Hello>(&message)) {
        waiting.erase(from);
        const std::string difference = difference_between(parts_.terms, hello->terms);
        if (difference.empty()) {
          machines[from] = hello->machine;
        } else {
          refuse({from, hello->machine.host, "", {}, false}, difference);
        }
      }
      if (const auto* leaving = std::get_if<Leaving>(&message)) on(from, *leaving);
      if (const auto* farewell = std::get_if<Farewell>(&message)) {
        on(from, *farewell);
        machines.erase(from);
        waiting.erase(from);
      }
    }
    if (stop_) return;
    for (const int rank : waiting) lose_before_start(unknown_worker(rank), "report");
  }

  /// It is not told: it waits, as one that nobody has work for, and ends with the others.
  void refuse(const WorkerInfo& worker, const std::string& reason) {
    refused_.insert(worker.rank);
    last_reason_ =
        "rank " + std::to_string(worker.rank) + " on " + worker.host + " is refused: " + reason;
    observe([=](RunObserver& observer) { observer.on_worker_refused(worker, reason); });
  }

  void lose_before_start(const WorkerInfo& worker, const char* what) {
    const double timeout_s = parts_.timeouts.start_s;
    last_reason_ = "rank " + std::to_string(worker.rank) + " did not " + what + " within " +
                   std::to_string(std::lround(timeout_s)) + " s";
    observe([=](RunObserver& observer) { observer.on_worker_lost(worker, timeout_s); });
  }

  [[nodiscard]] static WorkerInfo unknown_worker(int rank) {
    return {rank, "its host", "", {}, false};
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

  void join(const WorkerPointer& worker) {
    workers_[worker->rank] = worker;
    queue_.worker_joined(worker->rank, worker->threads, worker->device);
    // It was not there when the others were told.
    if (stop_) send(worker->rank, Stop{});
  }

  /// Takes in the messages that are at hand, so that their results are stored together.
  void receive() {
    auto envelope = link_.receive(look_interval);
    for (std::size_t taken = 1; envelope; ++taken) {
      const int from = envelope->from;
      if (!refused_.contains(from)) {
        hear(from);
        std::visit([&](auto&& message) { on(from, message); },
                   decode_from_worker(envelope->message));
      }
      if (taken == most_messages) return;
      envelope = link_.receive(std::chrono::microseconds{0});
    }
  }

  /// A worker that was thought lost and speaks gets work again. What it was told before is taken
  /// back, as others have it now; what it is at may still be the first answer.
  void hear(int worker) {
    queue_.worker_heard(worker);
    const auto lost = lost_.find(worker);
    if (lost == lost_.end()) return;
    const auto info = std::make_shared<const WorkerInfo>(lost->second);
    lost_.erase(lost);
    observe([info](RunObserver& observer) { observer.on_worker_back(*info); });
    join(info);
    send(worker, Retract{std::numeric_limits<std::uint64_t>::max()});
  }

  void on(int worker, Report& report) {
    const auto known = workers_.find(worker);
    std::erase_if(report.started, [&](std::uint32_t plan) { return !is_known(plan); });
    for (const std::uint32_t plan : report.started) {
      if (!queue_.plan_started(worker, plan)) continue;
      ++attempts_of(plan);
      started_.insert_or_assign(plan, PlanProgress{plan});
    }
    if (known != workers_.end() && !report.started.empty())
      observe(
          [this, info = known->second, plans = std::move(report.started)](RunObserver& observer) {
            for (const std::uint32_t plan : plans) observer.on_started(*info, task_of(plan));
          });
    for (PlanResult& result : report.results) {
      result.rank = worker;
      result.started_s = elapsed_s() - static_cast<double>(result.phases.send_s) - result.seconds;
      result.predicted_s = static_cast<float>(queue_.predicted_s(worker, result.index));
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
        result.field.clear();
        observe([result](RunObserver& observer) { observer.on_repeated(result); });
        return;
      case WorkQueue::Answer::first:
        break;
    }
    started_.erase(result.index);
    result.attempts = attempts_of(result.index);
    result.failures = queue_.failures(result.index);
    if (queue_.is_late_copy(result.index)) copied_.emplace(result.index, result);
    news_.add(Records::Kind::result, std::move(result), now());
  }

  void take_failure(int worker, PlanResult& result) {
    const auto failure = queue_.plan_failed(worker, result.index, result.may_pass);
    if (failure == WorkQueue::Failure::of_a_copy) return;
    started_.erase(result.index);
    result.attempts = attempts_of(result.index);
    result.failures = queue_.failures(result.index);
    news_.add(failure == WorkQueue::Failure::to_be_tried_again ? Records::Kind::failed_try
                                                               : Records::Kind::result,
              std::move(result), now());
  }

  /// The second answer to a plan that was copied for an idle worker.
  void compare(const PlanResult& second) {
    const auto found = copied_.find(second.index);
    if (found == copied_.end()) return;
    const std::vector<Difference> differences = parts_.differences(found->second, second);
    if (differences.empty()) {
      if (!queue_.is_late_copy(second.index)) copied_.erase(found);
      return;
    }
    PlanResult failed = std::move(found->second);
    copied_.erase(found);
    const auto worker = [](const PlanResult& answer) {
      return "rank " + std::to_string(answer.rank) + " (" + answer.device + " on " + answer.host +
             ")";
    };
    failed.status = PlanStatus::failed;
    failed.error = "plan " + failed.id + ": " + worker(failed) + " and " + worker(second) +
                   " gave different answers, so one of these devices is faulty: " +
                   to_text(differences, "by the first", "by the second");
    ++failed.failures;
    failed.field.clear();
    news_.add(Records::Kind::conflict, std::move(failed), now());
  }

  void on(int worker, const Heartbeat& heartbeat) {
    const auto known = workers_.find(worker);
    if (known == workers_.end()) return;
    for (const PlanProgress& progress : heartbeat.running) {
      const auto started = started_.find(progress.index);
      if (started != started_.end() && progress.seconds >= started->second.seconds)
        started->second = progress;
    }
    observe([info = known->second, heartbeat](RunObserver& observer) {
      observer.on_heartbeat(*info, heartbeat.running);
      if (heartbeat.gpu) observer.on_gpu_sample(*info, *heartbeat.gpu);
    });
  }

  void on(int worker, const Returned& returned) { queue_.plans_returned(worker, returned.plans); }

  void on(int worker, const Leaving& leaving) {
    queue_.worker_leaving(worker);
    // The signal may reach a worker before it reaches rank 0.
    if (leaving.interrupted && !stop_) begin_stop(RunEnd::interrupted, "asked to");
  }

  void on(int worker, const Farewell& farewell) {
    last_reason_ = farewell.reason;
    queue_.worker_left(worker);
    WorkerInfo info = unknown_worker(worker);
    if (const auto known = workers_.find(worker); known != workers_.end()) info = *known->second;
    if (const auto placed = starting_.find(worker); placed != starting_.end())
      info = placed->second;
    workers_.erase(worker);
    starting_.erase(worker);
    observe([info, reason = farewell.reason](RunObserver& observer) {
      observer.on_worker_left(info, reason);
    });
    // A worker that leaves because of a signal has said so when it was Leaving. The run goes on as
    // long as others can read the plans.
    if (farewell.interrupted) source_away_ = farewell.reason;
  }

  /// Maybe one that nobody waited for any more.
  void on(int worker, const Ready& ready) {
    if (workers_.contains(worker)) return;
    const auto placed = starting_.find(worker);
    WorkerInfo info = placed != starting_.end() ? placed->second : unknown_worker(worker);
    starting_.erase(worker);
    info.host = ready.host;
    info.device = ready.device;
    info.threads = ready.threads;
    info.bound_cpus = ready.bound_cpus;
    const std::string difference = difference_between(parts_.samples, ready.samples, "plan ");
    if (!difference.empty()) return refuse(info, difference);
    const auto joined = std::make_shared<const WorkerInfo>(std::move(info));
    observe([joined](RunObserver& observer) { observer.on_worker_ready(*joined); });
    join(joined);
  }
  // Too late to be placed, or gone for good: neither is a reason to stop the others.
  void on(int, const Hello&) {}
  void on(int, const Goodbye&) {}

  void take_estimates() {
    if (!parts_.new_estimates) return;
    for (const auto& [plan, updates] : parts_.new_estimates()) queue_.set_work(plan, updates);
  }

  /// Sends the heartbeat, and gives up workers that are silent or do not get ready.
  void watch_workers() {
    for (const int worker : queue_.time_passed(watch_.lap_s())) give_up(worker);
    if (!starting_.empty() && now() > start_deadline_) {
      for (const auto& [rank, worker] : starting_) lose_before_start(worker, "get ready");
      starting_.clear();
    }
    heartbeat_.tell(link_, lost_);
  }

  void give_up(int worker) {
    const WorkerPointer info = workers_.at(worker);
    last_reason_ = "rank " + std::to_string(worker) + " on " + info->host + " fell silent";
    lost_[worker] = *info;
    workers_.erase(worker);
    observe([info, silent_s = parts_.timeouts.worker_s](RunObserver& observer) {
      observer.on_worker_lost(*info, silent_s);
    });
    for (const std::uint32_t plan : queue_.worker_lost(worker)) {
      started_.erase(plan);
      PlanResult result;
      result.index = plan;
      result.id = task_of(plan).id;
      result.status = PlanStatus::failed;
      result.rank = worker;
      result.host = info->host;
      result.device = info->device;
      result.attempts = attempts_of(plan);
      result.failures = parts_.max_attempts;
      result.error = "was running at " + std::to_string(parts_.max_attempts) +
                     " workers when they fell silent, last at " + last_reason_;
      news_.add(Records::Kind::result, std::move(result), now());
    }
  }

  void send_orders() {
    if (stop_ || news_.is_much()) return;
    const double left_s = time_left_s();
    queue_.expect_more_workers(!starting_.empty());
    const auto orders = queue_.orders(left_s);
    if (orders.empty() && !queue_.any_busy() && !queue_.all_finished() && !workers_.empty() &&
        starting_.empty() && left_s < std::numeric_limits<double>::infinity()) {
      begin_stop(RunEnd::out_of_time, "no plan is left that would end within the time limit");
      return;
    }
    for (const Order& order : orders) {
      if (order.kind == Order::Kind::retract) {
        send(order.worker, Retract{order.count});
        continue;
      }
      Assign assign;
      for (const std::uint32_t plan : order.plans) assign.tasks.push_back(task_of(plan));
      send(order.worker, assign);
      observe([this, info = workers_.at(order.worker), plans = order.plans](RunObserver& observer) {
        for (const std::uint32_t plan : plans) observer.on_leased(*info, task_of(plan));
      });
    }
  }

  /// Hands over what has happened since the last time, where that is done with.
  void record() {
    if (!recorder_.is_free()) return;
    // It asks each worker, and nobody looks at it more often.
    constexpr std::chrono::milliseconds foresight{100};
    if (const auto time = now(); time >= next_foresight_) {
      next_foresight_ = time + foresight;
      left_s_ = queue_.seconds_left();
    }
    recorder_.run(
        [this, left_s = left_s_, records = std::make_shared<Records>(std::exchange(news_, {}))] {
          work_off(*records, *parts_.sink, *parts_.observer, *parts_.runtime);
          parts_.sink->publish();
          parts_.observer->on_tick(left_s);
        });
  }

  /// Waits until all is stored and told, while the workers are told that rank 0 lives.
  void finish_recording() {
    while (!recorder_.is_free_within(look_interval)) heartbeat_.tell(link_, lost_);
    record();
    while (!recorder_.is_free_within(look_interval)) heartbeat_.tell(link_, lost_);
  }

  /// Plans that the end of the run cuts short have been started all the same: the next session is
  /// to know.
  void record_abandoned() {
    for (const auto& [plan, progress] : started_) {
      PlanResult result;
      result.index = plan;
      result.id = task_of(plan).id;
      result.attempts = attempts_of(plan);
      result.failures = queue_.failures(plan);
      news_.results.push_back({Records::Kind::abandoned, std::move(result), progress, now()});
    }
  }

  void begin_stop(RunEnd end, const std::string& reason) {
    stop_ = end;
    stop_deadline_ = now() + stop_timeout;
    observe([reason](RunObserver& observer) { observer.on_stopping(reason); });
    for (const auto& [rank, worker] : workers_) send(rank, Stop{});
  }

  Link& link_;
  const CoordinatorParts& parts_;
  WorkQueue queue_;
  std::vector<std::uint32_t> positions_;  // in parts_.plans, by number
  std::vector<std::int32_t> attempts_;    // by position
  std::map<int, WorkerInfo> starting_;    // placed, but not ready
  std::map<int, WorkerPointer> workers_;
  std::map<int, WorkerInfo> lost_;
  std::set<int> refused_;                                 // whatever they say is not for this run
  std::map<std::uint32_t, PlanProgress> started_;         // and not finished: how far each was last
  std::unordered_map<std::uint32_t, PlanResult> copied_;  // first answers that may be repeated
  Stopwatch watch_;
  HeartbeatTimer heartbeat_;
  Clock::time_point start_deadline_;
  std::string last_reason_;
  std::string source_away_;     // why a worker cannot read the plans; empty where all can
  std::optional<RunEnd> stop_;  // once it has to end early
  Clock::time_point stop_deadline_;
  Records news_;
  double left_s_ = std::numeric_limits<double>::quiet_NaN();
  Clock::time_point next_foresight_;
  Clock::time_point start_;
  BackgroundThread recorder_;  // last: it uses what is above
};

/// Also of a rank that was refused because it speaks otherwise, and so sends no Goodbye.
bool is_goodbye(const Bytes& message) {
  try {
    return std::holds_alternative<Goodbye>(decode_from_worker(message));
  } catch (const DecodeError&) {
    return false;
  }
}

}  // namespace

void keep_workers_waiting(Link& link, const Timeouts& timeouts, std::function<void()> work,
                          Runtime& runtime) {
  HeartbeatTimer heartbeat(runtime, timeouts.heartbeat_s());
  BackgroundThread thread(runtime);
  thread.run(std::move(work));
  do {
    heartbeat.tell(link, {});
    link.flush(std::chrono::milliseconds{0});
  } while (!thread.is_free_within(look_interval));
}

RunEnd coordinate(Link& link, const CoordinatorParts& parts) {
  Coordinator coordinator(link, parts);
  const RunEnd end = coordinator.run();
  parts.observer->on_predictions_judged(coordinator.prediction_quality());
  return end;
}

std::vector<int> dismiss_workers(Link& link, std::chrono::milliseconds timeout,
                                 const Runtime& runtime) {
  std::set<int> waiting;
  for (int rank = 1; rank < link.size(); ++rank) {
    link.send(rank, encode(Finish{}));
    waiting.insert(rank);
  }
  const auto deadline = runtime.now() + timeout;
  while (!waiting.empty() && runtime.now() < deadline) {
    const auto envelope = link.receive(look_interval);
    if (envelope && is_goodbye(envelope->message)) waiting.erase(envelope->from);
  }
  for (int rank = 1; rank < link.size(); ++rank) {
    if (!waiting.contains(rank)) link.send(rank, encode(Leave{waiting.empty()}));
  }
  link.flush(timeout);
  return {waiting.begin(), waiting.end()};
}

}  // namespace wallheat
