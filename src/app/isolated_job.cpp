#include "app/isolated_job.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include "app/child_process.hpp"
#include "app/file_descriptor.hpp"
#include "app/message_channel.hpp"
#include "app/solver_process.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds for_ever{0};
// From a busy file system a program can take long to load.
constexpr Seconds start_limit{120};
// How often a child may die before it has begun with a plan, in a row.
constexpr int start_tries = 3;
constexpr Seconds pause_between_starts{1};

/// What a wait for the child ends with, where it is no message.
struct Stopped {};
struct Silent {};
struct Died {
  std::string how;  ///< goes on after "the process"
};
using Event = std::variant<Message, Stopped, Silent, Died>;

/// Can be waited for together with a socket.
class Wake {
 public:
  Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_.get() < 0) throw RunError(fmt::format("eventfd: {}", std::strerror(errno)));
  }
  void set() const { ::eventfd_write(fd_.get(), 1); }
  void clear() const {
    eventfd_t ignored = 0;
    ::eventfd_read(fd_.get(), &ignored);
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

/// Time spent waiting since it was broken last. A machine that was suspended, or a job that was
/// stopped and continued, wakes up hours later: only the time that was asked for counts.
class Silence {
 public:
  explicit Silence(Seconds limit) : limit_(limit) {}

  void broken() { length_ = Seconds(0); }
  [[nodiscard]] bool too_long() const { return limit_ != for_ever && length_ >= limit_; }
  /// Calls poll for a while. Returns whether there is anything to read.
  bool poll(std::span<pollfd> files) {
    const int step_ms = limit_ == for_ever ? -1 : milliseconds(std::min(limit_ / 8, Seconds(1)));
    const auto start = Clock::now();
    const int ready = ::poll(files.data(), files.size(), step_ms);
    length_ += std::min<Seconds>(Clock::now() - start, Seconds(step_ms * 1e-3));
    return ready > 0;
  }

 private:
  static int milliseconds(Seconds time) { return static_cast<int>(time.count() * 1e3) + 1; }

  Seconds limit_;
  Seconds length_{0};
};

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw RunError(fmt::format("no socket for a solver process: {}", std::strerror(errno)));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// A child and the line to it.
class Solver final {
 public:
  bool ready = false;  ///< it has said so

  static Solver start(const SolverProgram& program, const SolverSetup& setup) {
    auto [ours, theirs] = socket_pair();
    Solver solver{ChildProcess(program.file, program.arguments, theirs.get()),
                  MessageChannel(std::move(ours))};
    solver.send(encode(setup));
    return solver;
  }

  /// Where nobody listens, that is found out by the next wait.
  void send(const Bytes& message) { (void)channel_.send(message, false); }

  Event wait(const Wake& wake, Silence& silence) {
    try {
      for (;;) {
        if (const auto bytes = channel_.next()) return decode(*bytes);
        if (silence.too_long()) return Silent{};
        std::array files{pollfd{channel_.fd(), POLLIN, 0}, pollfd{wake.fd(), POLLIN, 0}};
        if (!silence.poll(files)) continue;
        if (files[0].revents == 0) return Stopped{};
        if (!channel_.read()) return Died{ending()};
      }
    } catch (const DecodeError& error) {
      return Died{fmt::format("has lost its senses ({})", error.what())};
    }
  }

  /// Kills it. What the kernel does not end at once is left behind.
  std::optional<ChildProcess> bury() && {
    process_.kill();
    if (process_.wait(std::chrono::seconds(1))) return std::nullopt;
    return std::move(process_);
  }

 private:
  Solver(ChildProcess process, MessageChannel channel)
      : process_(std::move(process)), channel_(std::move(channel)) {}

  std::string ending() {
    return process_.wait(std::chrono::seconds(1)) ? process_.ending() : "hung up without ending";
  }

  ChildProcess process_;
  MessageChannel channel_;
};

std::string how_far(const PlanProgress& last) {
  if (last.iterations == 0) return "";
  return fmt::format(" (iteration {}, delta {:.3g} °C)", last.iterations, last.delta);
}

class IsolatedJob {
 public:
  IsolatedJob(JobSettings settings, Seconds plan_timeout, SolverProgram program)
      : settings_(std::move(settings)), plan_timeout_(plan_timeout), program_(std::move(program)) {
    come_up();
  }

  PlanResult operator()(const Task& task, const Watch& watch) {
    const auto start_time = Clock::now();
    PlanResult result = pending_result(settings_, task);
    wake_.clear();
    const std::stop_callback wake_on_stop(watch.stop, [this] { wake_.set(); });
    if (!watch.stop.stop_requested() && begin(task)) follow(task, watch, result);
    if (result.seconds == 0) result.seconds = Seconds(Clock::now() - start_time).count();
    return result;
  }

 private:
  void start() {
    std::erase_if(left_behind_, [](ChildProcess& process) { return process.wait({}); });
    SolverSetup setup;
    setup.settings = settings_;
    setup.parent = ::getpid();
    if (plan_timeout_ != for_ever)
      setup.progress_interval = std::min(setup.progress_interval, plan_timeout_ / 4);
    solver_.emplace(Solver::start(program_, setup));
  }

  /// The first child may be killed while it loads, too. Throws RunError where none gets ready.
  void come_up() {
    const auto end_time = Clock::now() + start_limit;
    for (int tries = 1;; ++tries) {
      try {
        start();
        await_ready();
        return;
      } catch (const RunError&) {
        end();
        if (tries == start_tries || Clock::now() >= end_time) throw;
      }
    }
  }

  void end() {
    if (!solver_) return;
    if (auto process = std::move(*solver_).bury()) left_behind_.push_back(std::move(*process));
    solver_.reset();
  }

  /// Returns false where a stop was requested. Throws RunError.
  bool await_ready() {
    Silence silence(start_limit);
    const Event event = solver_->wait(wake_, silence);
    if (std::holds_alternative<Stopped>(event)) return false;
    if (const auto* died = std::get_if<Died>(&event))
      throw RunError(fmt::format("a solver process {} at its start", died->how));
    if (std::holds_alternative<Silent>(event))
      throw RunError(
          fmt::format("a solver process did not start within {:.0f} s", start_limit.count()));
    const Message& message = std::get<Message>(event);
    if (const auto* farewell = std::get_if<Farewell>(&message)) throw RunError(farewell->reason);
    if (!std::holds_alternative<Ready>(message))
      throw RunError("a solver process says what it should not at its start");
    solver_->ready = true;
    return true;
  }

  /// Hands the task to a child that has begun with it. Returns false where a stop was requested.
  /// Throws RunError where no child gets that far.
  bool begin(const Task& task) {
    std::string problem;
    for (int tries = 0; tries < start_tries; ++tries) {
      try {
        if (!solver_) start();
        if (!solver_->ready && !await_ready()) return false;
        solver_->send(encode(Message(Assign{{task}})));
        Silence silence(begin_limit());
        const Event event = solver_->wait(wake_, silence);
        if (is_start_of(event, task)) return true;
        const bool stopped = std::holds_alternative<Stopped>(event);
        end();
        if (stopped) return false;
        const auto* died = std::get_if<Died>(&event);
        problem = died != nullptr ? fmt::format("a solver process {} before it began", died->how)
                                  : "a solver process does not begin";
      } catch (const RunError& error) {
        end();
        problem = error.what();
      }
      // A child that died of old, between two plans, is no reason to wait.
      if (tries == 1 && !pause()) return false;
    }
    throw RunError(fmt::format("no solver process comes up any more, the last of {} tries: {}",
                               start_tries, problem));
  }

  /// A child that is ready has nothing to load any more.
  [[nodiscard]] Seconds begin_limit() const {
    return plan_timeout_ == for_ever ? start_limit : std::min(start_limit, plan_timeout_);
  }

  static bool is_start_of(const Event& event, const Task& task) {
    const auto* message = std::get_if<Message>(&event);
    const auto* report = message == nullptr ? nullptr : std::get_if<Report>(message);
    return report != nullptr && report->started == std::vector{task.index};
  }

  /// Returns false where a stop was requested.
  [[nodiscard]] bool pause() const {
    pollfd file{wake_.fd(), POLLIN, 0};
    return ::poll(&file, 1, static_cast<int>(pause_between_starts.count() * 1e3)) <= 0;
  }

  /// Waits for the result of the task; leaves it pending if a stop is requested.
  void follow(const Task& task, const Watch& watch, PlanResult& result) {
    Silence silence(plan_timeout_);
    PlanProgress last;
    for (;;) {
      Event event = solver_->wait(wake_, silence);
      if (PlanResult* answer = answer_in(event, task)) {
        result = std::move(*answer);
        return;
      }
      const PlanProgress* progress = progress_in(event);
      if (progress == nullptr) {
        end();
        if (std::holds_alternative<Stopped>(event)) return;
        result.status = PlanStatus::failed;
        result.may_pass = true;
        result.error = fmt::format("plan {}: {}{}", task.id, trouble(event), how_far(last));
        start_ahead();
        return;
      }
      if (progress->iterations > last.iterations) silence.broken();
      last = *progress;
      if (watch.progress) watch.progress(last.iterations, last.delta);
    }
  }

  static PlanResult* answer_in(Event& event, const Task& task) {
    auto* message = std::get_if<Message>(&event);
    auto* report = message == nullptr ? nullptr : std::get_if<Report>(message);
    const bool is_answer = report != nullptr && report->results.size() == 1 &&
                           report->results.front().index == task.index;
    return is_answer ? &report->results.front() : nullptr;
  }

  static const PlanProgress* progress_in(const Event& event) {
    const auto* message = std::get_if<Message>(&event);
    const auto* heartbeat = message == nullptr ? nullptr : std::get_if<Heartbeat>(message);
    return heartbeat != nullptr && heartbeat->running.size() == 1 ? &heartbeat->running.front()
                                                                  : nullptr;
  }

  [[nodiscard]] std::string trouble(const Event& event) const {
    if (const auto* died = std::get_if<Died>(&event)) return "its solver process " + died->how;
    if (std::holds_alternative<Silent>(event))
      return fmt::format("no progress for {:g} s", plan_timeout_.count());
    return "its solver process has lost its senses (the wrong message)";
  }

  /// Saves the next plan the wait for a child that loads.
  void start_ahead() {
    try {
      start();
    } catch (const RunError&) {
      end();  // the next plan tries again, and says so where it cannot
    }
  }

  JobSettings settings_;
  Seconds plan_timeout_;
  SolverProgram program_;
  Wake wake_;
  std::vector<ChildProcess> left_behind_;  // killed, but the kernel has not ended them yet
  std::optional<Solver> solver_;
};

}  // namespace

PlanJob make_isolated_job(const JobSettings& settings, std::chrono::duration<double> plan_timeout,
                          const SolverProgram& program) {
  const auto job = std::make_shared<IsolatedJob>(settings, plan_timeout, program);
  return [job](const Task& task, const Watch& watch) { return (*job)(task, watch); };
}

}  // namespace wallheat
