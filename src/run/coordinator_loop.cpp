#include "run/coordinator_loop.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto poll_interval = 5ms;
// Results that arrive within this time are stored together, because a sync of the disk takes as
// long as a small plan. A kill loses no more of them than a slow disk would.
constexpr double store_interval_s = 0.05;
constexpr double prediction_interval_s = 0.5;  // a prediction examines all plans in progress
// Maximum number of messages that are received before plans are assigned.
constexpr std::size_t max_messages = 1024;
// While more than this is waiting to be stored, no messages are received, so that no plans are
// assigned either.
constexpr std::size_t max_pending_bytes = std::size_t{256} << 20;
// A longer time between two ticks means that this process was suspended; the excess does not count
// towards the timeouts of workers.
constexpr double max_tick_s = 0.25;

/// Events that are not stored yet. The background thread of the run stores them.
class EventStore {
 public:
  EventStore(const CoordinationContext& context, BackgroundThread& thread)
      : context_(context), thread_(thread) {}
  ~EventStore() {
    if (work_.valid()) work_.wait();
  }
  EventStore(const EventStore&) = delete;
  EventStore& operator=(const EventStore&) = delete;

  void add(std::vector<Event> events) {
    for (Event& event : events) {
      bytes_ += event.encoded_result.size() + sizeof event;
      waiting_.push_back(std::move(event));
    }
  }
  [[nodiscard]] bool is_behind() const { return bytes_ > max_pending_bytes; }
  /// Starts to store all events that were added. Call this only if is_free().
  void begin(double seconds_left) {
    at_work_ = std::exchange(waiting_, {});
    bytes_ = 0;
    work_ = thread_.submit([this, seconds_left] { context_.store(at_work_, seconds_left); });
  }
  /// Returns true if nothing is being stored. Throws the exception of the storing that has ended.
  [[nodiscard]] bool is_free() {
    if (!work_.valid()) return true;
    if (work_.wait_for(0ms) != std::future_status::ready) return false;
    work_.get();
    return true;
  }
  /// Stores all remaining events. Call this in the background thread.
  void finish() {
    if (work_.valid()) work_.get();
    context_.store(waiting_, 0);
  }

 private:
  const CoordinationContext& context_;
  BackgroundThread& thread_;
  std::vector<Event> waiting_;
  std::size_t bytes_ = 0;  // size of waiting_
  std::vector<Event> at_work_;
  std::future<void> work_;
};

class CoordinatorLoop {
 public:
  CoordinatorLoop(Link& link, BackgroundThread& thread, CoordinationContext context)
      : link_(link),
        thread_(thread),
        context_(std::move(context)),
        coordinator_(std::exchange(context_.plans, {}), link.size() - 1, context_.options),
        storing_(context_, thread) {}

  RunEnd run() {
    for (int rank = 1; rank < link_.size(); ++rank) send(rank, context_.setup);
    while (!coordinator_.end()) {
      take_messages();
      for (const auto& [plan, updates] : context_.new_estimates())
        coordinator_.set_estimate(plan, updates);
      advance_clock();
      coordinator_.assign_plans(now_s());
      flush_outbox();
      if (context_.interrupted()) coordinator_.request_stop("stop requested", RunEnd::interrupted);
      store();
    }
    const RunEnd end = *coordinator_.end();
    if (end != RunEnd::finished) coordinator_.emit_aborted_events();
    finish_storing();
    if (end == RunEnd::no_workers) throw RunError(coordinator_.failure_reason());
    return end;
  }

 private:
  [[nodiscard]] double now_s() const { return context_.elapsed_s(); }

  void send(int rank, const ToWorker& message) { link_.send(rank, encode(message)); }

  /// Receives all pending messages, so that their results are stored in one batch. While storing is
  /// behind, leaves them unreceived.
  void take_messages() {
    if (storing_.is_behind()) {
      link_.flush(poll_interval);
      return;
    }
    auto envelope = link_.receive(poll_interval);
    for (std::size_t taken = 1; envelope; ++taken) {
      take(*envelope);
      if (taken == max_messages || storing_.is_behind()) return;
      envelope = link_.receive(0us);
    }
  }

  void take(const Envelope& envelope) {
    std::optional<FromWorker> message;
    try {
      message = decode_from_worker(envelope.message);
    } catch (const DecodeError&) {
      return coordinator_.on_invalid_message(
          envelope.from, "cannot decode its messages (wallheat version mismatch?)", now_s());
    }
    if (auto* report = std::get_if<WorkerReport>(&*message))
      coordinator_.on_report(envelope.from, std::move(*report), now_s());
    else
      coordinator_.on_bye(envelope.from, std::get<Bye>(*message), now_s());
    storing_.add(std::exchange(coordinator_.outbox.events, {}));
  }

  void advance_clock() {
    const double now = now_s();
    const double passed_s = now - std::exchange(last_check_s_, now);
    const bool deaf = storing_.is_behind();
    const double stalled_s = deaf ? passed_s : std::max(0.0, passed_s - max_tick_s);
    coordinator_.tick(now, context_.time_left_s(), stalled_s);
  }

  void flush_outbox() {
    for (auto& [rank, plans] : std::exchange(coordinator_.outbox.assignments, {})) {
      Assignment work;
      for (const QueueIndex plan : plans) work.tasks.push_back(context_.task(plan));
      if (plans.empty())
        link_.send_heartbeat(rank, encode(ToWorker(work)));
      else
        send(rank, work);
    }
    for (const int rank : std::exchange(coordinator_.outbox.stop_requests, {})) send(rank, Stop{});
    storing_.add(std::exchange(coordinator_.outbox.events, {}));
  }

  /// Starts to store the new events, unless the previous ones are still being stored.
  void store() {
    const double now = now_s();
    if (now < next_store_s_ || !storing_.is_free()) return;
    next_store_s_ = now + store_interval_s;
    if (now >= next_prediction_s_) {
      next_prediction_s_ = now + prediction_interval_s;
      left_s_ = coordinator_.queue().seconds_left();
    }
    storing_.begin(left_s_);
  }

  /// Waits until all events are stored. Sends heartbeats to the workers meanwhile.
  void finish_storing() {
    flush_outbox();
    run_with_heartbeats(link_, thread_, context_.options.heartbeat_interval_s,
                        [&] { storing_.finish(); });
  }

  Link& link_;
  BackgroundThread& thread_;
  CoordinationContext context_;
  Coordinator coordinator_;
  double last_check_s_ = 0;
  double next_store_s_ = 0;
  double next_prediction_s_ = 0;
  double left_s_ = std::numeric_limits<double>::quiet_NaN();
  EventStore storing_;  // last member, so that it waits before the others are destroyed
};

/// Returns true if the message is a Bye; false also if another version of wallheat sent it and it
/// cannot be decoded.
bool is_bye(const Bytes& message) {
  try {
    return std::holds_alternative<Bye>(decode_from_worker(message));
  } catch (const DecodeError&) {
    return false;
  }
}

}  // namespace

void run_with_heartbeats(Link& link, BackgroundThread& thread, double heartbeat_interval_s,
                         std::function<void()> work) {
  const Bytes sign = encode(ToWorker(Assignment{}));
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(heartbeat_interval_s, 1.0)));
  std::future<void> done = thread.submit(std::move(work));
  struct WaitAtExit {  // waits also after an exception of the link: `work` uses objects of the
                       // caller
    std::future<void>& done;
    ~WaitAtExit() {
      if (done.valid()) done.wait();
    }
  } wait_at_exit{done};
  for (auto next = Clock::now(); done.wait_for(poll_interval) != std::future_status::ready;) {
    link.flush(0ms);
    if (Clock::now() < next) continue;
    next = Clock::now() + interval;
    for (int rank = 1; rank < link.size(); ++rank) link.send_heartbeat(rank, sign);
  }
  done.get();
}

RunEnd coordinate(Link& link, BackgroundThread& thread, CoordinationContext context) {
  return CoordinatorLoop(link, thread, std::move(context)).run();
}

std::vector<int> shut_down_workers(Link& link) {
  std::set<int> waiting;
  for (int rank = 1; rank < link.size(); ++rank) {
    link.send(rank, encode(ToWorker(Stop{})));
    waiting.insert(rank);
  }
  const auto deadline = Clock::now() + 5s;
  for (auto next = Clock::now() + 1s; !waiting.empty() && Clock::now() < deadline;) {
    const auto envelope = link.receive(poll_interval);
    if (envelope && is_bye(envelope->message)) waiting.erase(envelope->from);
    if (Clock::now() < next) continue;
    next += 1s;  // a worker that has sent Bye must not treat rank 0 as lost meanwhile
    for (int rank = 1; rank < link.size(); ++rank)
      if (!waiting.contains(rank)) link.send_heartbeat(rank, encode(ToWorker(Assignment{})));
  }
  for (int rank = 1; rank < link.size(); ++rank) {
    if (!waiting.contains(rank)) link.send(rank, encode(ToWorker(Shutdown{waiting.empty()})));
  }
  // The messages to a rank that does not respond may never be sent.
  link.flush(waiting.empty() ? 5s : 1s);
  return {waiting.begin(), waiting.end()};
}

}  // namespace wallheat
