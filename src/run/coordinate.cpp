#include <algorithm>
#include <future>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "run/run.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto look_interval = 5ms;
// Results that come within this time are stored together, as a sync of the disk takes as long as a
// small plan. A kill costs no more of them than a slow disk would.
constexpr double store_interval_s = 0.05;
constexpr double foresight_interval_s = 0.5;  // to foresee the end is to look at all plans at hand
// At most this many messages are taken in before workers are fed.
constexpr std::size_t most_messages = 1024;
// While more than this waits to be stored, no messages are taken in, so nobody gets plans either.
constexpr std::size_t many_bytes = std::size_t{256} << 20;
// A process that was stopped must not take its own sleep for the silence of others.
constexpr double longest_lap_s = 0.25;

/// What happened and is not stored yet, and the thread that stores.
class Storing {
 public:
  explicit Storing(const CoordinationContext& context) : context_(context) {}
  ~Storing() {
    if (work_.valid()) work_.wait();
  }
  Storing(const Storing&) = delete;
  Storing& operator=(const Storing&) = delete;

  void add(std::vector<Event> events) {
    for (Event& event : events) {
      bytes_ += event.record.size() + sizeof event;
      waiting_.push_back(std::move(event));
    }
  }
  [[nodiscard]] bool is_behind() const { return bytes_ > many_bytes; }
  /// Also without events.
  void begin(double seconds_left) {
    at_work_ = std::exchange(waiting_, {});
    bytes_ = 0;
    work_ = std::async(std::launch::async,
                       [this, seconds_left] { context_.store(at_work_, seconds_left); });
  }
  /// Throws what storing threw.
  [[nodiscard]] bool is_free() {
    if (!work_.valid()) return true;
    if (work_.wait_for(0ms) != std::future_status::ready) return false;
    work_.get();
    return true;
  }
  /// Stores all there is, in the calling thread.
  void finish() {
    if (work_.valid()) work_.get();
    context_.store(waiting_, 0);
  }

 private:
  const CoordinationContext& context_;
  std::vector<Event> waiting_;
  std::size_t bytes_ = 0;  // of waiting_
  std::vector<Event> at_work_;
  std::future<void> work_;
};

class Coordination {
 public:
  Coordination(Link& link, CoordinationContext context)
      : link_(link),
        context_(std::move(context)),
        coordinator_(std::exchange(context_.plans, {}), link.size() - 1, context_.options),
        storing_(context_) {}

  RunEnd run() {
    for (int rank = 1; rank < link_.size(); ++rank) send(rank, context_.setup);
    while (!coordinator_.end()) {
      take_messages();
      for (const auto& [plan, updates] : context_.new_estimates())
        coordinator_.set_updates(plan, updates);
      watch_time();
      coordinator_.feed(now_s());
      send_what_there_is();
      if (context_.interrupted()) coordinator_.ask_to_stop("asked to", RunEnd::interrupted);
      store();
    }
    const RunEnd end = *coordinator_.end();
    if (end != RunEnd::finished) coordinator_.record_abandoned();
    finish_storing();
    if (end == RunEnd::nobody_left) throw RunError(coordinator_.last_reason());
    return end;
  }

 private:
  [[nodiscard]] double now_s() const { return context_.elapsed_s(); }

  void send(int rank, const ToWorker& message) { link_.send(rank, encode(message)); }

  /// Takes in the messages that are at hand, so that their results are stored together. While
  /// storing is behind, they stay with their senders.
  void take_messages() {
    if (storing_.is_behind()) {
      link_.flush(look_interval);
      return;
    }
    auto envelope = link_.receive(look_interval);
    for (std::size_t taken = 1; envelope; ++taken) {
      take(*envelope);
      if (taken == most_messages || storing_.is_behind()) return;
      envelope = link_.receive(0us);
    }
  }

  void take(const Envelope& envelope) {
    std::optional<FromWorker> message;
    try {
      message = decode_from_worker(envelope.message);
    } catch (const DecodeError&) {
      return coordinator_.refuse(
          envelope.from,
          "its messages are not understood, as those of another version of wallheat would be",
          now_s());
    }
    std::visit([&](auto& report) { coordinator_.heard(envelope.from, std::move(report), now_s()); },
               *message);
    storing_.add(std::exchange(coordinator_.outbox.events, {}));
  }

  void watch_time() {
    const double now = now_s();
    const double passed_s = now - std::exchange(looked_s_, now);
    const bool deaf = storing_.is_behind();
    const double slept_s = deaf ? passed_s : std::max(0.0, passed_s - longest_lap_s);
    coordinator_.tick(now, context_.time_left_s(), slept_s);
  }

  void send_what_there_is() {
    for (auto& [rank, plans] : std::exchange(coordinator_.outbox.work, {})) {
      Work work;
      for (const std::uint32_t plan : plans) work.tasks.push_back(context_.task(plan));
      if (plans.empty())
        link_.send_sign_of_life(rank, encode(ToWorker(work)));
      else
        send(rank, work);
    }
    for (const int rank : std::exchange(coordinator_.outbox.stops, {})) send(rank, Stop{});
    storing_.add(std::exchange(coordinator_.outbox.events, {}));
  }

  /// Hands over what has happened since the last time, if that is done with.
  void store() {
    const double now = now_s();
    if (now < next_store_s_ || !storing_.is_free()) return;
    next_store_s_ = now + store_interval_s;
    if (now >= next_foresight_s_) {
      next_foresight_s_ = now + foresight_interval_s;
      left_s_ = coordinator_.queue().seconds_left();
    }
    storing_.begin(left_s_);
  }

  /// Waits until all is stored and told, while the workers are told that rank 0 lives.
  void finish_storing() {
    send_what_there_is();
    keep_workers_waiting(link_, context_.options.sign_s, [&] { storing_.finish(); });
  }

  Link& link_;
  CoordinationContext context_;
  Coordinator coordinator_;
  double looked_s_ = 0;
  double next_store_s_ = 0;
  double next_foresight_s_ = 0;
  double left_s_ = std::numeric_limits<double>::quiet_NaN();
  Storing storing_;  // last: it is waited for before anything it uses is gone
};

/// Also asked of what a rank of another version says.
bool is_bye(const Bytes& message) {
  try {
    return std::holds_alternative<Bye>(decode_from_worker(message));
  } catch (const DecodeError&) {
    return false;
  }
}

}  // namespace

void keep_workers_waiting(Link& link, double sign_s, std::function<void()> work) {
  const Bytes sign = encode(ToWorker(Work{}));
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(sign_s, 1.0)));
  std::future<void> done = std::async(std::launch::async, std::move(work));
  for (auto next = Clock::now(); done.wait_for(look_interval) != std::future_status::ready;) {
    link.flush(0ms);
    if (Clock::now() < next) continue;
    next = Clock::now() + interval;
    for (int rank = 1; rank < link.size(); ++rank) link.send_sign_of_life(rank, sign);
  }
  done.get();
}

RunEnd coordinate(Link& link, CoordinationContext context) {
  return Coordination(link, std::move(context)).run();
}

std::vector<int> dismiss_workers(Link& link, std::chrono::milliseconds timeout) {
  std::set<int> waiting;
  for (int rank = 1; rank < link.size(); ++rank) {
    link.send(rank, encode(ToWorker(Stop{})));
    waiting.insert(rank);
  }
  const auto deadline = Clock::now() + timeout;
  for (auto next = Clock::now() + 1s; !waiting.empty() && Clock::now() < deadline;) {
    const auto envelope = link.receive(look_interval);
    if (envelope && is_bye(envelope->message)) waiting.erase(envelope->from);
    if (Clock::now() < next) continue;
    next += 1s;  // a worker that has said Bye must not take rank 0 for gone meanwhile
    for (int rank = 1; rank < link.size(); ++rank)
      if (!waiting.contains(rank)) link.send_sign_of_life(rank, encode(ToWorker(Work{})));
  }
  for (int rank = 1; rank < link.size(); ++rank) {
    if (!waiting.contains(rank)) link.send(rank, encode(ToWorker(End{waiting.empty()})));
  }
  link.flush(timeout);
  return {waiting.begin(), waiting.end()};
}

}  // namespace wallheat
