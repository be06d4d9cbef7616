#include "isolation/worker_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "io/standard_streams.hpp"
#include "node/local_machine.hpp"
#include "queue/agent.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// How long a worker sleeps at most before it looks whether there are messages. It has plans in
// stock, so no lane waits for this.
constexpr std::chrono::milliseconds look_interval{5};

class Worker {
 public:
  Worker(Link& link, const WorkerContext& context)
      : link_(link), context_(context), agent_(context.sign_s), seats_(context.program) {}

  bool run() {
    while (!end_) {
      try {
        look();
      } catch (const std::exception& error) {
        if (agent_.has_left()) throw;
        agent_.leave(Bye::Why::broken, error.what());
      }
      if (silent_s_ > context_.silence_s)
        throw RunError(
            fmt::format("rank 0 has said nothing for {:.0f} s and seems to be gone; what was "
                        "stored is safe, go on with --resume",
                        std::floor(silent_s_)));
    }
    return end_->together;
  }

 private:
  void look() {
    // It sleeps while it waits for the side that will speak next.
    const bool waits = agent_.waits_for_rank_0();
    hear_seats(waits ? std::chrono::milliseconds{0} : look_interval);
    auto envelope = link_.receive(waits ? look_interval : std::chrono::milliseconds{0});
    const double passed_s = lap_s();
    now_s_ += passed_s;
    silent_s_ = envelope ? 0 : silent_s_ + passed_s;
    for (; envelope && !end_; envelope = link_.receive(std::chrono::milliseconds{0}))
      hear(*envelope);
    if (context_.interrupted() && !agent_.has_left()) leave(Bye::Why::interrupted, "interrupted");
    agent_.tick(now_s_);
    carry_out();
  }

  /// The time since the last call, as far as it counts: not while this process was stopped, or
  /// waited for the kernel.
  double lap_s() {
    const double longest_s = std::max(0.25, context_.sign_s / 4);
    const auto now = context_.now();
    const std::chrono::duration<double> passed = now - std::exchange(lap_began_, now);
    return std::min(passed.count(), longest_s);
  }

  void hear_seats(std::chrono::milliseconds at_most) {
    auto events = seats_.poll(at_most);
    // First, so that the agent knows what a process that has ended was at.
    for (std::size_t seat = 0; seat < seats_.count(); ++seat)
      seats_.progress(seat,
                      [&](const PlanProgress& progress) { agent_.progressed(seat, progress); });
    for (auto& [seat, what] : events)
      std::visit([&, number = seat](auto& each) { agent_.heard(number, std::move(each)); }, what);
  }

  void hear(const Envelope& envelope) {
    ToWorker message;
    try {
      message = decode_to_worker(envelope.message);
    } catch (const DecodeError&) {
      return leave(Bye::Why::refused,
                   "the messages of rank 0 are not understood, as those of another version of "
                   "wallheat would be");
    }
    std::visit([this](const auto& each) { on(each); }, message);
  }

  void on(const Setup& setup) {
    if (agent_.has_left() || !devices_.empty()) return;
    if (const auto difference = context_.difference(setup); !difference.empty())
      return leave(Bye::Why::refused, difference);
    devices_ = context_.open();
    std::vector<Agent::Device> devices;
    for (const WorkerDevice& device : devices_) {
      const JobSettings& settings = device.seats.front();
      devices.push_back({device.seats.size(), device.facts, settings.plan_timeout_s});
      for (const JobSettings& seat : device.seats) seats_.add(seat);
    }
    agent_.open(std::move(devices));
  }
  void on(const Work& work) { agent_.heard(work); }
  void on(const Stop& stop) {
    hear_seats(std::chrono::milliseconds{0});  // what is solved is not to be lost
    agent_.heard(stop);
  }
  void on(const End& end) { end_ = end; }

  void leave(Bye::Why why, const std::string& reason) {
    hear_seats(std::chrono::milliseconds{0});
    agent_.leave(why, reason);
  }

  void carry_out() {
    Agent::Outbox outbox = std::exchange(agent_.outbox, {});
    for (const Agent::Order& order : outbox.orders) {
      if (order.kind == Agent::Order::Kind::start) seats_.start(order.seat);
      if (order.kind == Agent::Order::Kind::give) seats_.give(order.seat, order.task);
      if (order.kind == Agent::Order::Kind::kill) seats_.kill(order.seat);
    }
    for (const std::string& warning : outbox.warnings) print_error("wallheat: {}", warning);
    for (FromWorker& message : outbox.messages) send(message);
  }

  void send(FromWorker& message) {
    auto* report = std::get_if<WorkerReport>(&message);
    if (auto* bye = std::get_if<Bye>(&message)) bye->host = context_.host;
    if (report != nullptr && (report->ready || now_s_ >= next_look_s_)) {
      next_look_s_ = now_s_ + context_.sign_s;
      report->peak_memory = peak_memory();
      // A GPU that is given up tells nothing any more.
      if (!devices_.empty() && devices_[agent_.device_in_use()].gpu_samples)
        report->gpu = devices_[agent_.device_in_use()].gpu_samples();
    }
    if (report != nullptr && !report->has_news()) {
      link_.send_sign_of_life(0, encode(message));
    } else {
      link_.send(0, encode(message));
    }
  }

  Link& link_;
  const WorkerContext& context_;
  Agent agent_;
  Seats seats_;
  std::vector<WorkerDevice> devices_{};
  std::chrono::steady_clock::time_point lap_began_ = context_.now();
  double now_s_ = 0;
  double silent_s_ = 0;     // rank 0
  double next_look_s_ = 0;  // at memory and GPU
  std::optional<End> end_{};
};

}  // namespace

bool run_worker(Link& link, const WorkerContext& context) { return Worker(link, context).run(); }

}  // namespace wallheat
