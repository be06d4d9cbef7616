#include "isolation/solver_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>

#include "core/plan_source.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = Runtime::Clock;
using Seconds = std::chrono::duration<double>;

// From a busy file system a program can take long to load.
constexpr Seconds start_limit{120};
// How often a child may die before it has begun with a plan, in a row.
constexpr int start_tries = 3;
constexpr std::chrono::milliseconds pause_between_starts{1000};
// When a GPU is to blame: so many different plans failed on it, none passing in between; or it
// failed so often with several plans at once, though never to be pinned on one.
constexpr int most_blamed_in_a_row = 3;
constexpr int most_failures_in_company = 5;

/// A child and who is at it. But for the child itself, SolverPool's lock is to be held.
struct Generation {
  explicit Generation(std::unique_ptr<SolverChild> child_) : child(std::move(child_)) {}

  std::unique_ptr<SolverChild> child;
  bool ready = false;        ///< it has said so
  bool over = false;         ///< somebody has found it dead, or killed it
  std::size_t plans = 0;     ///< given to it and not answered yet
  std::size_t suspects = 0;  ///< how many of them may have killed it
};

/// What to think of a plan without an answer.
enum class Verdict { to_blame, suspect, innocent };

std::string how_far(const PlanProgress& last) {
  if (last.iterations == 0) return "";
  return fmt::format(" (iteration {}, delta {:.3g} °C)", last.iterations, last.delta);
}

}  // namespace

/// What the lanes have in common: the child, who may use it when, and the device's record.
class SolverPool::Shared {
 public:
  Shared(JobSettings settings, Seconds plan_timeout, std::size_t lanes, std::vector<int> cpus,
         SolverPoolParts parts)
      : settings_(std::move(settings)),
        plan_timeout_(plan_timeout),
        lanes_(lanes),
        cpus_(std::move(cpus)),
        parts_(std::move(parts)),
        changed_(parts_.runtime->make_condition()) {
    start_first();
  }

  [[nodiscard]] const JobSettings& settings() const { return settings_; }
  [[nodiscard]] Seconds plan_timeout() const { return plan_timeout_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  [[nodiscard]] Seconds source_timeout() const { return parts_.source_timeout; }
  [[nodiscard]] Clock::time_point now() const { return parts_.runtime->now(); }

  /// Waits so long. Returns false where a stop was requested.
  bool pause(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return !changed_->wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
  }

  /// Of all lanes one says so.
  void source_is_away(const std::string& reason) {
    if (!source_away_.exchange(true))
      parts_.warn(fmt::format("on {}: {}; waiting up to {:.0f} s for it", settings_.host, reason,
                              parts_.source_timeout.count()));
  }
  void source_is_back() { source_away_ = false; }

  /// The right to use the child, in company or alone; nothing where a stop was requested. Whoever
  /// wants to be alone goes first. Throws RunError if the device is given up.
  class SharedLock;
  [[nodiscard]] std::unique_ptr<SharedLock> acquire(bool alone, const std::stop_token& stop);

  /// A child that is ready; nothing where a stop was requested. Throws RunError.
  std::shared_ptr<Generation> ready_child(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    // One lane brings it up while the others wait.
    if (!changed_->wait(lock, stop, [&] { return !starting_; })) return nullptr;
    if (generation_ && generation_->ready) return generation_;
    starting_ = true;
    lock.unlock();
    std::shared_ptr<Generation> generation;
    try {
      // A child that died of old, between two plans, is no reason to wait.
      const bool pause_first = start_failures_ == start_tries - 1;
      if (!pause_first || pause(pause_between_starts, stop)) generation = bring_up(stop);
    } catch (...) {
      starting_done();
      throw;
    }
    starting_done();
    return generation;
  }

  /// To be called before a plan is given to a child. Returns false where it is dead.
  bool enter(Generation& generation) {
    const std::scoped_lock lock(mutex_);
    if (!generation.over) ++generation.plans;
    return !generation.over;
  }

  void begun() { start_failures_ = 0; }

  /// Throws RunError if that was once too often in a row, SourceUnavailable where that is why.
  void start_failed(const std::string& problem) {
    if (++start_failures_ < start_tries) return;
    start_failures_ = 0;
    expect_available(settings_.data);
    throw RunError(fmt::format("no solver process comes up any more, the last of {} tries: {}",
                               start_tries, problem));
  }

  void answered(Generation& generation, bool alone) {
    const std::scoped_lock lock(mutex_);
    --generation.plans;
    blamed_in_a_row_ = 0;
    if (!alone) failures_in_company_ = 0;
  }

  /// Nobody wants the child's answers any more.
  void stop(const std::shared_ptr<Generation>& generation) {
    (void)finish(
        generation, [](const Generation&) { return 0; }, "");
  }

  /// The child died, or hung, before it began with a plan, which so cannot have killed it. Returns
  /// false where somebody else has found that out before.
  bool failed_to_begin(const std::shared_ptr<Generation>& generation, const std::string& reason) {
    return finish(
        generation, [](const Generation& now) { return now.plans - 1; }, reason);
  }

  /// A plan gets no answer: because it makes no progress, or because of what became of the child.
  Verdict no_answer(const std::shared_ptr<Generation>& generation, bool no_progress,
                    const Task& task, const std::string& reason) {
    const bool first = finish(
        generation, [&](const Generation& now) { return no_progress ? 0 : now.plans; }, reason);
    const std::scoped_lock lock(mutex_);
    if (!given_up_.empty()) return Verdict::innocent;
    if (no_progress ? first : generation->suspects == 1) {
      note_blame(task, reason);
      return Verdict::to_blame;
    }
    return generation->suspects > 1 ? Verdict::suspect : Verdict::innocent;
  }

  /// Saves the next plan the wait for a child that loads.
  void start_ahead() {
    const std::scoped_lock lock(mutex_);
    if (generation_ || starting_ || !given_up_.empty()) return;
    try {
      start();
    } catch (const RunError&) {
      // the next plan tries again, and says so where it cannot
    }
  }

 private:
  /// The first child may be killed while it loads, too. Throws RunError if none gets ready.
  void start_first() {
    const auto end_time = now() + start_limit;
    for (int tries = 1;; ++tries) {
      try {
        (void)bring_up({});
        return;
      } catch (const RunError&) {
        if (tries == start_tries || now() >= end_time) throw;
      }
    }
  }

  void starting_done() {
    {
      const std::scoped_lock lock(mutex_);
      starting_ = false;
    }
    changed_->notify();
  }

  /// With the lock held, or before there are lanes.
  void start() {
    std::erase_if(left_behind_,
                  [](const auto& generation) { return generation->child->is_gone(); });
    SolverSetup setup;
    setup.settings = settings_;
    setup.lanes = static_cast<std::uint32_t>(lanes_);
    setup.cpus = cpus_;
    if (plan_timeout_ != for_ever)
      setup.progress_interval = std::min(setup.progress_interval, plan_timeout_ / 4);
    generation_ = std::make_shared<Generation>(parts_.start(setup));
  }

  /// Starts a child where there is none, and waits until it is ready. Returns nothing where a stop
  /// was requested. Throws RunError.
  std::shared_ptr<Generation> bring_up(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!generation_) start();
    std::shared_ptr<Generation> generation = generation_;
    lock.unlock();
    try {
      if (!await_ready(*generation, stop)) return nullptr;
    } catch (const RunError&) {
      lock.lock();
      generation->over = true;
      generation_.reset();
      lock.unlock();
      kill_and_reap(generation);
      throw;
    }
    lock.lock();
    generation->ready = true;
    return generation;
  }

  /// Returns false where a stop was requested. Throws RunError.
  bool await_ready(Generation& generation, const std::stop_token& stop) {
    IdleTimer idle_timer(start_limit);
    const SolverEvent event = generation.child->wait(0, stop, idle_timer);
    if (std::holds_alternative<Stopped>(event)) return false;
    if (const auto* died = std::get_if<Died>(&event))
      throw RunError(fmt::format("a solver process {} at its start", died->how));
    if (std::holds_alternative<TimedOut>(event))
      throw RunError(
          fmt::format("a solver process did not start within {:.0f} s", start_limit.count()));
    const auto& message = std::get<FromWorker>(event);
    if (const auto* farewell = std::get_if<Farewell>(&message)) throw RunError(farewell->reason);
    const auto* ready = std::get_if<Ready>(&message);
    if (ready == nullptr || ready->threads == 0)
      throw RunError("a solver process says what it should not at its start");
    if (lanes_ == 0) lanes_ = ready->threads;
    generation.child->open_lanes(lanes_);
    return true;
  }

  /// Kills it. What the kernel does not end at once is left behind.
  void kill_and_reap(const std::shared_ptr<Generation>& generation) {
    if (generation->child->kill_and_reap()) return;
    const std::scoped_lock lock(mutex_);
    left_behind_.push_back(generation);
  }

  [[nodiscard]] bool has_gpu() const { return settings_.solver.gpu.has_value(); }

  /// Ends a child that is of no use any more; `suspects` counts who may have killed it. Returns
  /// false where somebody else was first. Nobody starts the next while this one may hold a GPU.
  template <class Suspects>
  bool finish(const std::shared_ptr<Generation>& generation, Suspects suspects,
              const std::string& reason) {
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(generation->over, true)) return false;
      generation->suspects = suspects(*generation);
      if (generation->suspects > 1) note_failure_in_company(generation->suspects, reason);
      generation_.reset();
      starting_ = true;
    }
    kill_and_reap(generation);
    starting_done();
    return true;
  }

  void note_blame(const Task& task, const std::string& reason) {
    // The same plan may come back; it is no new evidence against the device.
    if (blamed_in_a_row_ == 0 || task.index != blamed_last_) ++blamed_in_a_row_;
    blamed_last_ = task.index;
    if (has_gpu() && blamed_in_a_row_ >= most_blamed_in_a_row)
      give_up(fmt::format("{} plans in a row failed on it, the last one, {}: {}", blamed_in_a_row_,
                          task.id, reason));
  }

  void note_failure_in_company(std::size_t plans, const std::string& reason) {
    parts_.warn(fmt::format("{} on {}: {}; trying its {} plans again one by one", settings_.device,
                            settings_.host, reason, plans));
    if (++failures_in_company_ >= most_failures_in_company)
      give_up(
          fmt::format("it failed {} times in a row with several plans at once, the last time: "
                      "{}",
                      failures_in_company_, reason));
  }

  void give_up(const std::string& reason) {
    given_up_ = fmt::format("{} is given up: {}", settings_.device, reason);
    changed_->notify();
  }

  JobSettings settings_;
  Seconds plan_timeout_;
  std::size_t lanes_;  // 0 until the first child has told
  std::vector<int> cpus_;
  SolverPoolParts parts_;
  std::atomic<bool> source_away_ = false;

  std::mutex mutex_;
  std::unique_ptr<Runtime::Condition> changed_;
  std::shared_ptr<Generation> generation_;
  bool starting_ = false;                                 // or ending the one before
  std::atomic<int> start_failures_ = 0;                   // in a row
  std::vector<std::shared_ptr<Generation>> left_behind_;  // killed, but not ended by the kernel yet
  // Turns.
  std::size_t in_company_ = 0;
  std::size_t waiting_to_be_alone_ = 0;
  bool alone_ = false;
  // The device's record.
  int blamed_in_a_row_ = 0;
  std::uint32_t blamed_last_ = 0;
  int failures_in_company_ = 0;
  std::string given_up_;
};

class SolverPool::Shared::SharedLock {
 public:
  SharedLock(Shared& shared, bool alone) : shared_(shared), alone_(alone) {}
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
  ~SharedLock() {
    bool anybody_waits = false;
    {
      const std::scoped_lock lock(shared_.mutex_);
      if (alone_) {
        shared_.alone_ = false;
      } else {
        --shared_.in_company_;
      }
      anybody_waits = alone_ || shared_.waiting_to_be_alone_ > 0;
    }
    if (anybody_waits) shared_.changed_->notify();
  }

 private:
  Shared& shared_;
  bool alone_;
};

std::unique_ptr<SolverPool::Shared::SharedLock> SolverPool::Shared::acquire(
    bool alone, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (alone) ++waiting_to_be_alone_;
  const bool free = changed_->wait(lock, stop, [&] {
    return !given_up_.empty() ||
           (!alone_ && (alone ? in_company_ == 0 : waiting_to_be_alone_ == 0));
  });
  if (alone) --waiting_to_be_alone_;
  if (!free || !given_up_.empty()) {
    lock.unlock();
    changed_->notify();  // one less waits to be alone
    if (!free) return nullptr;
    throw DeviceFault(given_up_);
  }
  if (alone) {
    alone_ = true;
  } else {
    ++in_company_;
  }
  return std::make_unique<SharedLock>(*this, alone);
}

/// One thread's way to the child.
class SolverPool::Lane {
 public:
  Lane(std::shared_ptr<Shared> shared, std::size_t lane)
      : shared_(std::move(shared)), lane_(lane) {}

  /// Waits for the source where it is away.
  PlanResult operator()(const Task& task, const SolveControl& control) {
    constexpr std::chrono::milliseconds longest_pause{5000};
    std::chrono::milliseconds pause{100};
    const auto first_try = shared_->now();
    for (;;) {
      PlanResult result = pending_result(shared_->settings(), task);
      try {
        result = solve(task, control);
      } catch (const SourceUnavailable& away) {  // so that no child comes up
        result.error = away.what();
      }
      const bool away = result.status == PlanStatus::pending && !result.error.empty();
      if (!away) {
        shared_->source_is_back();
        return result;
      }
      shared_->source_is_away(result.error);
      if (shared_->now() - first_try >= shared_->source_timeout())
        throw SourceUnavailable(result.error);
      // It is being waited for, though nothing is known of its progress.
      if (control.progress) control.progress(0, std::numeric_limits<double>::quiet_NaN());
      if (!shared_->pause(pause, control.stop)) return pending_result(shared_->settings(), task);
      pause = std::min(2 * pause, longest_pause);
    }
  }

 private:
  PlanResult solve(const Task& task, const SolveControl& control) {
    const auto start_time = shared_->now();
    PlanResult result = pending_result(shared_->settings(), task);
    bool alone = false;
    while (!control.stop.stop_requested()) {
      const auto held = shared_->acquire(alone, control.stop);
      if (!held) break;
      const auto generation = begin(task, control);
      if (!generation) break;
      const auto verdict = follow(generation, alone, task, control, result);
      if (!verdict || verdict == Verdict::to_blame) break;
      alone = verdict == Verdict::suspect;
    }
    if (result.seconds == 0) result.seconds = Seconds(shared_->now() - start_time).count();
    return result;
  }

  /// Hands the task to a child that has begun with it. Returns nothing where a stop was requested.
  /// Throws RunError if no child gets that far.
  std::shared_ptr<Generation> begin(const Task& task, const SolveControl& control) {
    for (;;) {
      std::shared_ptr<Generation> generation;
      try {
        generation = shared_->ready_child(control.stop);
      } catch (const RunError& error) {
        shared_->start_failed(error.what());
        continue;
      }
      if (!generation) return nullptr;
      if (!shared_->enter(*generation)) continue;  // a plan of another lane has killed it since
      generation->child->send(lane_, encode(Assign{{task}}));
      IdleTimer idle_timer(begin_limit());
      const SolverEvent event = generation->child->wait(lane_, control.stop, idle_timer);
      if (is_start_of(event, task)) {
        shared_->begun();
        return generation;
      }
      if (std::holds_alternative<Stopped>(event)) {
        shared_->stop(generation);
        return nullptr;
      }
      const std::string problem = trouble_at_start(event);
      if (shared_->failed_to_begin(generation, problem)) shared_->start_failed(problem);
    }
  }

  /// A child that is ready has nothing to load any more.
  [[nodiscard]] Seconds begin_limit() const {
    const Seconds limit = shared_->plan_timeout();
    return limit == for_ever ? start_limit : std::min(start_limit, limit);
  }

  static bool is_start_of(const SolverEvent& event, const Task& task) {
    const auto* message = std::get_if<FromWorker>(&event);
    const auto* report = message == nullptr ? nullptr : std::get_if<Report>(message);
    return report != nullptr && report->started == std::vector{task.index};
  }

  static std::string trouble_at_start(const SolverEvent& event) {
    if (const auto* died = std::get_if<Died>(&event))
      return fmt::format("a solver process {} before it began", died->how);
    if (const auto* farewell = farewell_in(event)) return farewell->reason;
    return "a solver process does not begin";
  }

  /// Waits for the result of the task; leaves it pending if a stop is requested. Otherwise, where
  /// there is none, returns what is thought of the plan.
  std::optional<Verdict> follow(const std::shared_ptr<Generation>& generation, bool alone,
                                const Task& task, const SolveControl& control, PlanResult& result) {
    IdleTimer idle_timer(shared_->plan_timeout());
    PlanProgress last;
    for (;;) {
      SolverEvent event = generation->child->wait(lane_, control.stop, idle_timer);
      if (PlanResult* answer = answer_in(event, task)) {
        result = std::move(*answer);
        shared_->answered(*generation, alone);
        return std::nullopt;
      }
      const PlanProgress* progress = progress_in(event);
      if (progress == nullptr) return judge(event, generation, last, task, control, result);
      if (progress->iterations > last.iterations) idle_timer.restart();
      last = *progress;
      if (control.progress) control.progress(last.iterations, last.delta);
    }
  }

  std::optional<Verdict> judge(const SolverEvent& event,
                               const std::shared_ptr<Generation>& generation,
                               const PlanProgress& last, const Task& task,
                               const SolveControl& control, PlanResult& result) {
    if (control.stop.stop_requested()) {
      shared_->stop(generation);
      return std::nullopt;
    }
    const std::string reason = trouble(event) + how_far(last);
    const bool silent = std::holds_alternative<TimedOut>(event);
    const Verdict verdict = shared_->no_answer(generation, silent, task, reason);
    if (verdict == Verdict::to_blame) {
      result.status = PlanStatus::failed;
      result.may_pass = true;
      result.error = fmt::format("plan {}: {}", task.id, reason);
      shared_->start_ahead();
    }
    return verdict;
  }

  static PlanResult* answer_in(SolverEvent& event, const Task& task) {
    auto* message = std::get_if<FromWorker>(&event);
    auto* report = message == nullptr ? nullptr : std::get_if<Report>(message);
    const bool is_answer = report != nullptr && report->results.size() == 1 &&
                           report->results.front().index == task.index;
    return is_answer ? &report->results.front() : nullptr;
  }

  static const PlanProgress* progress_in(const SolverEvent& event) {
    const auto* message = std::get_if<FromWorker>(&event);
    const auto* heartbeat = message == nullptr ? nullptr : std::get_if<Heartbeat>(message);
    return heartbeat != nullptr && heartbeat->running.size() == 1 ? &heartbeat->running.front()
                                                                  : nullptr;
  }

  static const Farewell* farewell_in(const SolverEvent& event) {
    const auto* message = std::get_if<FromWorker>(&event);
    return message == nullptr ? nullptr : std::get_if<Farewell>(message);
  }

  [[nodiscard]] std::string trouble(const SolverEvent& event) const {
    if (const auto* died = std::get_if<Died>(&event)) return "its solver process " + died->how;
    if (const auto* farewell = farewell_in(event)) return farewell->reason;
    if (std::holds_alternative<TimedOut>(event))
      return fmt::format("no progress for {:g} s", shared_->plan_timeout().count());
    return "its solver process sent an invalid answer (the wrong message)";
  }

  std::shared_ptr<Shared> shared_;
  std::size_t lane_;
};

SolverPool::SolverPool(const JobSettings& settings, Seconds plan_timeout, std::size_t lanes,
                       const std::vector<int>& cpus, SolverPoolParts parts)
    : shared_(std::make_shared<Shared>(settings, plan_timeout, lanes, cpus, std::move(parts))) {}

std::size_t SolverPool::lanes() const { return shared_->lanes(); }

PlanJob SolverPool::job(std::size_t lane) const {
  const auto job = std::make_shared<Lane>(shared_, lane);
  return [job](const Task& task, const SolveControl& control) { return (*job)(task, control); };
}

PlanJob make_isolated_job(const JobSettings& settings, Seconds plan_timeout,
                          SolverPoolParts parts) {
  return SolverPool(settings, plan_timeout, 1, {}, std::move(parts)).job(0);
}

}  // namespace wallheat
