#include "queue/coordinator.hpp"

#include <chrono>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "queue/work_queue.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_interval{5};
constexpr std::chrono::seconds hello_patience{60};
// mpirun kills its ranks soon after it was told to stop: abandoned plans must not be waited for
// long.
constexpr std::chrono::seconds stop_patience{10};
// A batch of results is stored together once no more are at hand, or at this many.
constexpr std::size_t largest_batch = 1024;

class Coordinator {
 public:
  Coordinator(Link& link, const CoordinatorParts& parts)
      : link_(link), parts_(parts), queue_(indices(parts.plans)) {
    for (const QueuedPlan& plan : parts.plans) plans_[plan.task.index] = plan;
  }

  RunEnd run() {
    place();
    if (stopping_) begin_stop();  // asked to before the work began
    while (!queue_.all_finished()) {
      receive();
      send_orders();
      store();
      parts_.sink->publish();
      parts_.observer->on_tick(queue_.seconds_left());
      if (!stopping_ && parts_.interrupted()) begin_stop();
      if (stopping_ && (workers_.empty() || Clock::now() > stop_deadline_))
        return RunEnd::interrupted;
      if (workers_.empty() && !queue_.all_finished()) {
        throw RunError("all workers have left, the last because of: " + last_reason_);
      }
    }
    return RunEnd::finished;
  }

 private:
  static std::vector<std::uint32_t> indices(const std::vector<QueuedPlan>& plans) {
    std::vector<std::uint32_t> result;
    for (const QueuedPlan& plan : plans) result.push_back(plan.task.index);
    return result;
  }

  void send(int worker, const Message& message) { link_.send(worker, encode(message)); }

  /// Collects one message of type T from every rank in `waiting` that does not take leave instead.
  template <class T, class Take>
  void collect(std::set<int> waiting, const char* what, Take take) {
    const auto deadline = Clock::now() + hello_patience;
    while (!waiting.empty()) {
      if (const auto envelope = link_.receive(look_interval)) {
        const Message message = decode(envelope->message);
        if (const auto* wanted = std::get_if<T>(&message)) take(envelope->from, *wanted);
        if (const auto* farewell = std::get_if<Farewell>(&message)) {
          last_reason_ = farewell->reason;
          stopping_ = stopping_ || farewell->interrupted;
          gone_.insert(envelope->from);
        }
        waiting.erase(envelope->from);
      } else if (Clock::now() > deadline) {
        throw RunError("rank " + std::to_string(*waiting.begin()) + " did not " + what +
                       " within " + std::to_string(hello_patience.count()) +
                       " s; start the run again");
      }
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
    const auto placements = place_workers(machine_list, parts_.device, parts_.threads_per_worker);
    for (std::size_t i = 0; i < placements.size(); ++i)
      send(placed_ranks[i], Placed{placements[i]});

    collect<Ready>({placed_ranks.begin(), placed_ranks.end()}, "get ready",
                   [&](int rank, const Ready& ready) {
                     workers_[rank] = {rank, ready.host, ready.device, ready.bound_cpus, false};
                   });
    for (const int rank : gone_) workers_.erase(rank);
    if (workers_.empty() && !stopping_) throw RunError("no worker could start: " + last_reason_);

    std::vector<WorkerInfo> table;
    for (std::size_t i = 0; i < placements.size(); ++i) {
      const auto worker = workers_.find(placed_ranks[i]);
      if (worker == workers_.end()) continue;
      worker->second.shared = placements[i].shared;
      queue_.worker_joined(worker->first, worker->second.bound_cpus.size());
      table.push_back(worker->second);
    }
    parts_.observer->on_workers_ready(table);
  }

  /// Takes in all messages that are at hand, so that their results are stored together.
  void receive() {
    auto envelope = link_.receive(look_interval);
    while (envelope) {
      const int from = envelope->from;
      std::visit([&](auto&& message) { on(from, message); }, decode(envelope->message));
      if (batch_.size() >= largest_batch) return;
      envelope = link_.receive(std::chrono::microseconds{0});
    }
  }

  void on(int worker, Report& report) {
    for (const std::uint32_t plan : report.started) {
      const auto queued = plans_.find(plan);
      if (queued == plans_.end()) continue;
      ++queued->second.attempts;
      queue_.plan_started(worker, plan);
      if (workers_.contains(worker))
        parts_.observer->on_started(workers_[worker], queued->second.task);
    }
    for (PlanResult& result : report.results) {
      if (!queue_.plan_finished(worker, result.index, result.seconds)) continue;
      result.attempts = plans_.at(result.index).attempts;
      result.rank = worker;
      batch_.push_back(std::move(result));
    }
  }

  void on(int worker, const Returned& returned) { queue_.plans_returned(worker, returned.plans); }

  void on(int worker, const Farewell& farewell) {
    last_reason_ = farewell.reason;
    (void)queue_.worker_left(worker);
    if (const auto known = workers_.find(worker); known != workers_.end()) {
      parts_.observer->on_worker_left(known->second, farewell.reason);
      workers_.erase(known);
    }
    // The signal may reach a worker before it reaches rank 0.
    if (farewell.interrupted && !stopping_) begin_stop();
  }

  template <class Unexpected>
  void on(int worker, const Unexpected&) {
    throw DecodeError("rank 0 got a message from rank " + std::to_string(worker) + " out of turn");
  }

  void send_orders() {
    if (stopping_) return;
    for (const Order& order : queue_.orders()) {
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
    for (const PlanResult& result : batch_) parts_.observer->on_stored(result);
    batch_.clear();
  }

  void begin_stop() {
    stopping_ = true;
    stop_deadline_ = Clock::now() + stop_patience;
    parts_.observer->on_interrupted();
    for (const auto& [rank, worker] : workers_) send(rank, Stop{});
  }

  Link& link_;
  const CoordinatorParts& parts_;
  WorkQueue queue_;
  std::unordered_map<std::uint32_t, QueuedPlan> plans_;
  std::map<int, WorkerInfo> workers_;
  std::set<int> gone_;  // took leave while the workers were placed
  std::vector<PlanResult> batch_;
  std::string last_reason_;
  bool stopping_ = false;
  Clock::time_point stop_deadline_;
};

}  // namespace

RunEnd coordinate(Link& link, const CoordinatorParts& parts) {
  return Coordinator(link, parts).run();
}

void dismiss_workers(Link& link) {
  for (int rank = 1; rank < link.size(); ++rank) link.send(rank, encode(Finish{}));
  link.flush();
}

}  // namespace wallheat
