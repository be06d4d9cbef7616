#include "queue/coordinator.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "queue/answers.hpp"
#include "queue/background_thread.hpp"
#include "queue/ranks.hpp"
#include "queue/records.hpp"
#include "queue/stopwatch.hpp"
#include "queue/work_queue.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = Runtime::Clock;
using Stage = Ranks::Stage;

constexpr std::chrono::milliseconds look_interval{5};
// mpirun kills its ranks soon after it was told to stop: abandoned plans must not be waited for
// long.
constexpr double stop_timeout_s = 10;
// Results that come within this time are stored together: a sync of the disk takes as long as a
// small plan. A kill costs no more of them than a slow disk would.
constexpr double record_interval_s = 0.05;
// So many messages are taken in before anything else is looked at.
constexpr std::size_t most_messages = 1024;

/// How a worker's facts differ from rank 0's, as a clause; empty where they do not.
std::string difference_between(const std::vector<NamedValue>& here,
                               const std::vector<NamedValue>& there, const std::string& kind = "") {
  for (std::size_t k = 0; k < std::max(here.size(), there.size()); ++k) {
    if (k == here.size() || k == there.size() || here[k].name != there[k].name)
      return "its messages are not understood, as those of another version of wallheat would be";
    if (here[k].value != there[k].value)
      return "its " + kind + here[k].name + " is " + there[k].value + ", and rank 0's is " +
             here[k].value;
  }
  return "";
}

class Coordinator {
 public:
  Coordinator(Link& link, CoordinatorParts parts)
      : link_(link),
        parts_(std::move(parts)),
        runtime_(*parts_.runtime),
        queue_(items(parts_.plans), parts_.max_attempts),
        ranks_(link, parts_.timeouts, runtime_),
        answers_(parts_, queue_, recorder_),
        watch_(runtime_, parts_.timeouts.longest_lap_s()),
        start_(runtime_.now()),
        recorder_(*parts_.sink, parts_.observer, runtime_) {}

  RunEnd run() {
    while (!queue_.all_finished()) {
      receive();
      place();
      take_estimates();
      watch_ranks();
      send_orders();
      record();
      if (!stop_ && parts_.interrupted()) begin_stop(RunEnd::interrupted, asked_to());
      if (!stop_ && time_left_s() <= 0) begin_stop(RunEnd::out_of_time, "the time limit");
      if (stop_ && (at_work() == 0 || now_s() > stop_deadline_s_)) break;
      if (at_work() + expected() == 0 && !queue_.all_finished()) {
        if (!source_away_.empty()) {
          begin_stop(RunEnd::source_away, source_away_);
          continue;
        }
        finish_recording();
        throw RunError((any_placed_ ? "all workers have left, the last because of: "
                                    : "no worker could start: ") +
                       last_reason_);
      }
    }
    const bool stopped = !queue_.all_finished();
    if (stopped) answers_.record_abandoned();
    finish_recording();
    return stopped ? *stop_ : RunEnd::finished;
  }

  void judge_predictions() {
    parts_.observer(
        {.kind = Event::Kind::predictions_judged, .quality = queue_.prediction_quality()});
  }

 private:
  static std::vector<WorkQueue::Item> items(const std::vector<QueuedPlan>& plans) {
    std::vector<WorkQueue::Item> result;
    result.reserve(plans.size());
    for (const QueuedPlan& plan : plans) result.push_back({plan.index, plan.failures});
    return result;
  }

  /// Since coordinate() was called.
  [[nodiscard]] double now_s() const {
    return std::chrono::duration<double>(runtime_.now() - start_).count();
  }

  [[nodiscard]] double elapsed_s() const { return parts_.elapsed_s ? parts_.elapsed_s() : now_s(); }

  [[nodiscard]] double time_left_s() const {
    return parts_.time_left_s ? parts_.time_left_s() : std::numeric_limits<double>::infinity();
  }

  // Who is here.

  /// Workers that have plans, or may have.
  [[nodiscard]] std::size_t at_work() const {
    return ranks_.count(Stage::working) + ranks_.count(Stage::leaving);
  }
  /// Workers on their way to that.
  [[nodiscard]] std::size_t expected() const {
    return ranks_.count(Stage::awaited) + ranks_.count(Stage::reported) +
           ranks_.count(Stage::placed);
  }

  /// Those whose machines are known, where nobody of the same system is awaited any more.
  void place() {
    if (now_s() > parts_.timeouts.start_s) {
      for (const int rank : ranks_.those(Stage::awaited))
        lose_before_start(rank, "report", parts_.timeouts.start_s);
    }
    if (stop_ || ranks_.count(Stage::reported) == 0) return;
    std::set<std::uint64_t> incomplete;
    for (const int rank : ranks_.those(Stage::awaited)) incomplete.insert(link_.system_of(rank));
    std::vector<int> ranks = ranks_.those(Stage::reported);
    std::erase_if(ranks, [&](int rank) { return incomplete.contains(link_.system_of(rank)); });
    if (ranks.empty()) return;
    std::vector<Machine> machines;
    for (const int rank : ranks) machines.push_back(ranks_.take_machine(rank));
    std::vector<Task> samples;
    for (const NamedValue& sample : parts_.samples)
      samples.push_back({0, sample.name, parts_.places(sample.name)});
    const auto placements =
        place_workers(machines, parts_.device, parts_.threads_per_worker, parts_.may_be_bound);
    std::map<std::uint64_t, WorkerInfo::Node> nodes;
    for (std::size_t i = 0; i < placements.size(); ++i) {
      WorkerInfo::Node& node = nodes[link_.system_of(ranks[i])];
      ++node.workers;
      if (!placements[i].gpu) node.threads += threads_of(placements[i]);
    }
    for (std::size_t i = 0; i < placements.size(); ++i) {
      WorkerInfo info = described(ranks[i], machines[i], placements[i]);
      info.node = nodes[link_.system_of(ranks[i])];
      ranks_.describe(std::move(info));
      ranks_.move(ranks[i], Stage::placed);
      ranks_.send(ranks[i], Placed{placements[i], samples});
    }
    any_placed_ = true;
    ready_deadline_s_ = now_s() + parts_.timeouts.start_s;
  }

  /// What is known of a worker once it is placed.
  [[nodiscard]] WorkerInfo described(int rank, const Machine& machine,
                                     const Placement& placement) const {
    WorkerInfo info{rank, machine.host, "", {}, placement.shared};
    info.limit = placement.limit;
    info.memory_bytes = machine.memory_bytes;
    for (const Gpu& gpu : machine.gpus) {
      if (gpu.ordinal == placement.gpu) info.gpu = gpu;
    }
    if (!info.gpu && parts_.device != DeviceChoice::cpu)
      info.no_gpu = machine.gpus.empty() ? machine.no_gpu : "the others of its host have them all";
    return info;
  }

  /// It is not told: it waits, as one that nobody has work for, and ends with the others.
  void refuse(int rank, const std::string& reason) {
    const WorkerPointer info = ranks_.info(rank);
    ranks_.move(rank, Stage::refused);
    answers_.worker_left(rank);
    recorder_.forget_heartbeat(rank);
    last_reason_ = "rank " + std::to_string(rank) + " on " + info->host + " is refused: " + reason;
    recorder_.add({.kind = Event::Kind::worker_refused, .worker = info, .reason = reason});
  }

  void lose_before_start(int rank, const char* what, double timeout_s) {
    ranks_.move(rank, Stage::overdue);
    last_reason_ = "rank " + std::to_string(rank) + " did not " + what + " within " +
                   std::to_string(std::lround(timeout_s)) + " s";
    recorder_.add(
        {.kind = Event::Kind::worker_lost, .worker = ranks_.info(rank), .seconds = timeout_s});
  }

  void join(const WorkerPointer& worker) {
    ranks_.move(worker->rank, Stage::working);
    queue_.worker_joined(worker->rank, worker->threads, worker->device);
    // It was not there when the others were told.
    if (stop_) ranks_.send(worker->rank, Stop{});
  }

  /// A worker that was thought lost gets work again. Others have by now what waits there; what it
  /// is at may still be the first answer, and keeps its threads from other plans.
  void take_back(int rank, const Heartbeat& heartbeat) {
    const WorkerPointer info = ranks_.info(rank);
    recorder_.add({.kind = Event::Kind::worker_back, .worker = info});
    ranks_.send(rank, Retract{std::numeric_limits<std::uint64_t>::max()});
    join(info);
    for (const PlanProgress& progress : heartbeat.running)
      (void)queue_.plan_started(rank, progress.index, progress.seconds);
  }

  /// Gives up ranks that are silent or do not get ready, and tells the others that rank 0 lives.
  void watch_ranks() {
    const double passed_s = watch_.lap_s();
    queue_.time_passed(passed_s);
    for (const int rank : ranks_.time_passed(passed_s)) give_up(rank);
    if (ranks_.count(Stage::placed) > 0 && now_s() > ready_deadline_s_) {
      for (const int rank : ranks_.those(Stage::placed))
        lose_before_start(rank, "get ready", parts_.timeouts.start_s);
    }
    ranks_.tell_that_rank_0_lives();
  }

  void give_up(int rank) {
    const double silent_s = parts_.timeouts.worker_s;
    switch (ranks_.stage(rank)) {
      case Stage::reported:
      case Stage::placed:
        return lose_before_start(rank, "speak again", silent_s);
      case Stage::working:
      case Stage::leaving:
        break;
      default:
        return;
    }
    const WorkerPointer info = ranks_.info(rank);
    last_reason_ = "rank " + std::to_string(rank) + " on " + info->host + " fell silent";
    ranks_.move(rank, ranks_.stage(rank) == Stage::working ? Stage::lost : Stage::left);
    recorder_.forget_heartbeat(rank);
    recorder_.add({.kind = Event::Kind::worker_lost, .worker = info, .seconds = silent_s});
    answers_.worker_lost(*info, last_reason_);
  }

  // What they say.

  /// Takes in the messages that are at hand, so that their results are stored together. Where
  /// storing is far behind, what there is to say stays with those that say it, and nobody's silence
  /// is counted.
  void receive() {
    if (recorder_.is_far_behind()) {
      link_.flush(std::chrono::milliseconds{0});
      (void)recorder_.is_free_within(look_interval);
      (void)watch_.lap_s();
      return;
    }
    auto envelope = link_.receive(look_interval);
    for (std::size_t taken = 1; envelope; ++taken) {
      take(*envelope);
      if (taken == most_messages || recorder_.is_far_behind()) return;
      envelope = link_.receive(std::chrono::microseconds{0});
    }
  }

  void take(const Envelope& envelope) {
    const int from = envelope.from;
    ranks_.heard(from);
    if (ranks_.stage(from) == Stage::refused) return;
    std::optional<FromWorker> message;
    try {
      message = decode_from_worker(envelope.message);
    } catch (const DecodeError&) {
      return refuse(
          from,
          "its messages are not understood, as those of another version of wallheat would be");
    }
    std::visit([&](auto& each) { on(from, each); }, *message);
  }

  /// Maybe one that comes too late to be placed: that is no reason to stop the others.
  void on(int rank, Hello& hello) {
    if (ranks_.stage(rank) != Stage::awaited && ranks_.stage(rank) != Stage::overdue) return;
    if (ranks_.stage(rank) == Stage::awaited)
      ranks_.describe({rank, hello.machine.host, "", {}, false});
    if (const auto difference = difference_between(parts_.settings, hello.settings);
        !difference.empty())
      return refuse(rank, difference);
    if (ranks_.stage(rank) == Stage::awaited) ranks_.report(rank, std::move(hello.machine));
  }

  /// Maybe one that nobody waited for any more.
  void on(int rank, const Ready& ready) {
    if (ranks_.stage(rank) != Stage::placed && ranks_.stage(rank) != Stage::overdue) return;
    WorkerInfo info = *ranks_.info(rank);
    info.host = ready.host;
    info.device = ready.device;
    info.threads = ready.threads;
    info.bound_cpus = ready.bound_cpus;
    info.peak_memory = ready.peak_memory;
    ranks_.describe(std::move(info));
    const std::string difference = difference_between(parts_.samples, ready.samples, "plan ");
    if (!difference.empty()) return refuse(rank, difference);
    const WorkerPointer joined = ranks_.info(rank);
    recorder_.add({.kind = Event::Kind::worker_ready, .worker = joined});
    join(joined);
  }

  void on(int rank, WorkerReport& report) {
    std::erase_if(report.started, [&](std::uint32_t plan) { return !answers_.is_known(plan); });
    for (const std::uint32_t plan : report.started) answers_.started(rank, plan);
    if (ranks_.stage(rank) == Stage::working && !report.started.empty())
      recorder_.add({.kind = Event::Kind::started,
                     .worker = ranks_.info(rank),
                     .tasks = tasks(report.started)});
    for (PlanResult& result : report.results) {
      result.started_s = elapsed_s() - static_cast<double>(result.phases.send_s) - result.seconds;
      answers_.ended(rank, result);
    }
  }

  void on(int rank, Heartbeat& heartbeat) {
    std::erase_if(heartbeat.running,
                  [&](const PlanProgress& plan) { return !answers_.is_known(plan.index); });
    if (ranks_.stage(rank) == Stage::lost) take_back(rank, heartbeat);
    if (ranks_.stage(rank) != Stage::working && ranks_.stage(rank) != Stage::leaving) return;
    answers_.progressed(heartbeat.running);
    recorder_.add({.kind = Event::Kind::heartbeat,
                   .worker = ranks_.info(rank),
                   .heartbeat = std::move(heartbeat)});
  }

  void on(int rank, const Returned& returned) { answers_.returned(rank, returned.plans); }

  void on(int rank, const Leaving& leaving) {
    if (ranks_.stage(rank) == Stage::working || ranks_.stage(rank) == Stage::lost)
      ranks_.move(rank, Stage::leaving);
    queue_.worker_leaving(rank);
    // The signal may reach a worker before it reaches rank 0.
    if (leaving.interrupted && !stop_) begin_stop(RunEnd::interrupted, asked_to());
  }

  void on(int rank, const Farewell& farewell) {
    if (ranks_.stage(rank) == Stage::left) return;
    last_reason_ = farewell.reason;
    ranks_.move(rank, Stage::left);
    answers_.worker_left(rank);
    recorder_.forget_heartbeat(rank);
    recorder_.add(
        {.kind = Event::Kind::worker_left, .worker = ranks_.info(rank), .reason = farewell.reason});
    // A worker that leaves because of a signal has said so when it was Leaving. The run goes on as
    // long as others can read the plans.
    if (farewell.interrupted) source_away_ = farewell.reason;
  }

  void on(int, const Goodbye&) {}  // out of place, which is no reason to stop the others

  // What is done.

  [[nodiscard]] std::vector<Task> tasks(const std::vector<std::uint32_t>& plans) const {
    std::vector<Task> tasks;
    for (const std::uint32_t plan : plans) tasks.push_back(answers_.task(plan));
    return tasks;
  }

  void take_estimates() {
    if (!parts_.new_estimates) return;
    for (const auto& [plan, updates] : parts_.new_estimates()) queue_.set_work(plan, updates);
  }

  void send_orders() {
    if (stop_ || recorder_.is_behind()) return;
    const double left_s = time_left_s();
    queue_.expect_more_workers(expected() > 0);
    const auto orders = queue_.orders(left_s);
    if (orders.empty() && !queue_.any_busy() && !queue_.all_finished() &&
        ranks_.count(Stage::working) > 0 && ranks_.count(Stage::leaving) == 0 && expected() == 0 &&
        left_s < std::numeric_limits<double>::infinity()) {
      begin_stop(RunEnd::out_of_time, "no plan is left that would end within the time limit");
      return;
    }
    for (const Order& order : orders) {
      if (order.kind == Order::Kind::retract) {
        ranks_.send(order.worker, Retract{order.count});
        continue;
      }
      Assign assign{tasks(order.plans)};
      ranks_.send(order.worker, assign);
      recorder_.add({.kind = Event::Kind::leased,
                     .worker = ranks_.info(order.worker),
                     .tasks = std::move(assign.tasks)});
    }
  }

  /// Hands over what has happened since the last time, where that is done with.
  void record() {
    if (now_s() < next_record_s_ || !recorder_.is_free_within(std::chrono::milliseconds{0})) return;
    next_record_s_ = now_s() + record_interval_s;
    constexpr double foresight_interval_s = 0.5;  // it looks at all plans at hand
    if (now_s() >= next_foresight_s_) {
      next_foresight_s_ = now_s() + foresight_interval_s;
      left_s_ = queue_.seconds_left();
    }
    recorder_.hand_over(left_s_);
  }

  /// Waits until all is stored and told, while the workers are told that rank 0 lives.
  void finish_recording() {
    const auto wait = [this] {
      while (!recorder_.is_free_within(look_interval)) {
        // Nothing that they say counts any more, but that they live: then they are told the same.
        while (const auto envelope = link_.receive(std::chrono::microseconds{0}))
          ranks_.heard(envelope->from);
        ranks_.tell_that_rank_0_lives();
      }
    };
    wait();
    recorder_.hand_over(left_s_);
    wait();
  }

  [[nodiscard]] const char* asked_to() const {
    return any_placed_ ? "asked to" : "asked to before the work began";
  }

  void begin_stop(RunEnd end, const std::string& reason) {
    stop_ = end;
    stop_deadline_s_ = now_s() + stop_timeout_s;
    recorder_.add({.kind = Event::Kind::stopping, .reason = reason});
    for (const Stage stage : {Stage::working, Stage::leaving})
      for (const int rank : ranks_.those(stage)) ranks_.send(rank, Stop{});
  }

  Link& link_;
  CoordinatorParts parts_;
  Runtime& runtime_;
  WorkQueue queue_;
  Ranks ranks_;
  Answers answers_;
  Stopwatch watch_;
  Clock::time_point start_;
  double ready_deadline_s_ = 0;
  bool any_placed_ = false;
  std::string last_reason_;
  std::string source_away_;     // why a worker cannot read the plans; empty where all can
  std::optional<RunEnd> stop_;  // once it has to end early
  double stop_deadline_s_ = 0;
  double left_s_ = std::numeric_limits<double>::quiet_NaN();
  double next_foresight_s_ = 0;
  double next_record_s_ = 0;
  Recorder recorder_;  // last: what it tells refers to what is above
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
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(timeouts.heartbeat_s()));
  auto next = runtime.now();
  BackgroundThread thread(runtime);
  thread.run(std::move(work));
  do {
    if (const auto now = runtime.now(); now >= next) {
      next = now + interval;
      for (int rank = 1; rank < link.size(); ++rank)
        link.send_sign_of_life(rank, encode(CoordinatorHeartbeat{}));
    }
    link.flush(std::chrono::milliseconds{0});
  } while (!thread.is_free_within(look_interval));
}

RunEnd coordinate(Link& link, CoordinatorParts parts) {
  Coordinator coordinator(link, std::move(parts));
  const RunEnd end = coordinator.run();
  coordinator.judge_predictions();
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
