#include "isolation/solver_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <utility>
#include <variant>

#include "plans/plan_source.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

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
// Or it fell silent this often: each time costs half a minute, and it is no plan's fault.
constexpr int most_silences = 2;

/// A child, from its start to its end. But for the process itself, the pool's lock is to be held.
struct Child {
  explicit Child(std::unique_ptr<SolverChild> process_) : process(std::move(process_)) {}

  std::unique_ptr<SolverChild> process;
  bool ready = false;        ///< it has said so
  bool over = false;         ///< somebody has found it dead, or killed it
  std::size_t plans = 0;     ///< given to it and not answered yet
  std::size_t suspects = 0;  ///< how many of them may have killed it
  std::vector<std::size_t> free_lanes{};
};
using ChildPointer = std::shared_ptr<Child>;

/// Where a plan is solved.
struct Place {
  ChildPointer child;  ///< null: a stop was requested
  std::size_t lane = 0;
};

/// Which of its plans may have killed a child.
enum class Suspects { none, all_others, all };

/// What becomes of a plan that a child has begun with.
enum class Verdict { done, again, again_alone };

/// The message of that type; null where something else has happened.
template <class Message, class Event>
auto* message_in(Event& event) {
  auto* message = std::get_if<FromWorker>(&event);
  return message == nullptr ? nullptr : std::get_if<Message>(message);
}

/// Why it is not the message that was waited for.
std::string trouble(const SolverEvent& event, std::string_view whose, std::string_view when,
                    const std::string& silence, const std::string& other_message) {
  if (const auto* died = std::get_if<Died>(&event))
    return fmt::format("{} solver process {}{}", whose, died->how, when);
  if (const auto* farewell = message_in<Farewell>(event)) return farewell->reason;
  return std::holds_alternative<TimedOut>(event) ? silence : other_message;
}

std::string how_far(const PlanProgress& last) {
  if (last.iterations == 0) return "";
  return fmt::format(" (iteration {}, delta {:.3g} °C)", last.iterations, last.delta);
}

}  // namespace

class SolverPool::Impl {
 public:
  Impl(JobSettings settings, SolverPoolParts parts)
      : settings_(std::move(settings)),
        plan_limit_(settings_.plan_timeout_s > 0 ? settings_.plan_timeout_s
                                                 : std::numeric_limits<double>::infinity()),
        parts_(std::move(parts)),
        changed_(parts_.runtime->make_condition()) {
    // The first child may be killed while it loads, too.
    const auto end_time = parts_.runtime->now() + start_limit;
    for (int tries = 1;; ++tries) {
      try {
        bring_up({});
        return;
      } catch (const RunError&) {
        if (tries == start_tries || parts_.runtime->now() >= end_time) throw;
      }
    }
  }

  [[nodiscard]] std::size_t lanes() const { return settings_.lanes; }

  /// Waits for the source where it is away.
  PlanResult solve(const Task& task, const SolveControl& control) {
    constexpr std::chrono::milliseconds longest_pause{5000};
    std::chrono::milliseconds pause_time{100};
    const auto first_try = parts_.runtime->now();
    for (;;) {
      PlanResult result = pending_result(settings_, task);
      try {
        result = try_to_solve(task, control);
      } catch (const SourceUnavailable& away) {  // so that no child comes up
        result.error = away.what();
      }
      const bool away = result.status == PlanStatus::pending && !result.error.empty();
      const bool was_away = source_away_.exchange(away);
      if (!away) return result;
      if (!was_away)  // of all lanes one says so
        parts_.warn(fmt::format("on {}: {}; waiting up to {:.0f} s for it", settings_.host,
                                result.error, parts_.source_timeout.count()));
      if (parts_.runtime->now() - first_try >= parts_.source_timeout)
        throw SourceUnavailable(result.error);
      // It is being waited for, though nothing is known of its progress.
      if (control.progress) control.progress(0, std::numeric_limits<double>::quiet_NaN());
      if (!pause(pause_time, control.stop)) return pending_result(settings_, task);
      pause_time = std::min(2 * pause_time, longest_pause);
    }
  }

 private:
  /// A plan that is to be tried alone. As long as it exists, only such plans begin.
  class TriedAlone {
   public:
    explicit TriedAlone(Impl& pool) : pool_(pool) {
      const std::scoped_lock lock(pool_.mutex_);
      ++pool_.tried_alone_;
    }
    ~TriedAlone() {
      {
        const std::scoped_lock lock(pool_.mutex_);
        --pool_.tried_alone_;
      }
      pool_.changed_->notify();
    }
    TriedAlone(const TriedAlone&) = delete;
    TriedAlone& operator=(const TriedAlone&) = delete;

   private:
    Impl& pool_;
  };

  PlanResult try_to_solve(const Task& task, const SolveControl& control) {
    const auto start_time = parts_.runtime->now();
    PlanResult result = pending_result(settings_, task);
    std::unique_ptr<TriedAlone> alone;
    for (;;) {
      const Place place = begin(task, alone != nullptr, control.stop);
      if (!place.child) break;
      const Verdict verdict = follow(place, alone != nullptr, task, control, result);
      if (verdict == Verdict::done) break;
      alone.reset();
      if (verdict == Verdict::again_alone) alone = std::make_unique<TriedAlone>(*this);
    }
    if (result.seconds == 0) result.seconds = Seconds(parts_.runtime->now() - start_time).count();
    return result;
  }

  /// Hands the task to a child that has begun with it. Throws RunError if no child gets that far,
  /// or the device is given up.
  Place begin(const Task& task, bool alone, const std::stop_token& stop) {
    for (;;) {
      const Place place = enter(alone, stop);
      if (!place.child) return {};
      SolverChild& process = *place.child->process;
      process.send(place.lane, encode(Assign{{task}}));
      SilenceLeft left = std::min(start_limit, plan_limit_);  // it has nothing to load any more
      const SolverEvent event = process.wait(place.lane, stop, left);
      const auto* report = message_in<WorkerReport>(event);
      if (report != nullptr && report->started == std::vector{task.index}) {
        failed_starts_ = 0;
        return place;
      }
      if (std::holds_alternative<Stopped>(event)) {
        (void)finish(place.child, Suspects::none, "");
        return {};
      }
      const std::string silence = "a solver process does not begin";
      const std::string problem = trouble(event, "a", " before it began", silence, silence);
      if (finish(place.child, Suspects::all_others, problem)) start_failed(problem);
    }
  }

  /// A free lane of a child that is ready, alone or in company. Throws RunError.
  Place enter(bool alone, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::unique_lock lock(mutex_);
      const bool free = changed_->wait(lock, stop, [&] {
        const bool may_enter = alone ? !child_ || child_->plans == 0 : tried_alone_ == 0;
        const bool full = child_ && child_->ready && child_->free_lanes.empty();
        return !given_up_.empty() || (!starting_ && may_enter && !full);
      });
      if (!free) break;
      if (!given_up_.empty()) throw DeviceFault(given_up_);
      if (child_ && child_->ready) {
        ++child_->plans;
        const std::size_t lane = child_->free_lanes.back();
        child_->free_lanes.pop_back();
        return {child_, lane};
      }
      // This lane brings one up while the others wait.
      starting_ = true;
      lock.unlock();
      std::string problem;
      try {
        // A child that died of old, between two plans, is no reason to wait.
        const bool pause_first = failed_starts_ == start_tries - 1;
        if (!pause_first || pause(pause_between_starts, stop)) bring_up(stop);
      } catch (const RunError& error) {
        problem = error.what();
      }
      starting_done();
      if (!problem.empty()) start_failed(problem);
    }
    return {};
  }

  /// Starts a child where there is none, and waits until it is ready or a stop is requested. Throws
  /// RunError.
  void bring_up(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!child_) start();
    const ChildPointer child = child_;
    lock.unlock();
    try {
      const bool ready = await_ready(*child, stop);
      lock.lock();
      child->ready = ready;
      for (std::size_t lane = 0; lane < settings_.lanes; ++lane) child->free_lanes.push_back(lane);
    } catch (const RunError&) {
      lock.lock();
      child_.reset();
      lock.unlock();
      kill_and_reap(child);
      throw;
    }
  }

  /// With the lock held.
  void start() {
    std::erase_if(left_behind_, [](const auto& child) { return child->process->is_gone(); });
    child_ = std::make_shared<Child>(parts_.start(settings_));
  }

  /// Returns false where a stop was requested. Throws RunError.
  bool await_ready(Child& child, const std::stop_token& stop) {
    SilenceLeft left = start_limit;
    const SolverEvent event = child.process->wait(0, stop, left);
    if (std::holds_alternative<Stopped>(event)) return false;
    const auto* ready = message_in<Ready>(event);
    if (ready == nullptr || ready->threads == 0)
      throw RunError(trouble(
          event, "a", " at its start",
          fmt::format("a solver process did not start within {:.0f} s", start_limit.count()),
          "a solver process says what it should not at its start"));
    if (settings_.lanes == 0) settings_.lanes = ready->threads;
    return true;
  }

  void starting_done() {
    {
      const std::scoped_lock lock(mutex_);
      starting_ = false;
    }
    changed_->notify();
  }

  /// Throws RunError if that was once too often in a row, SourceUnavailable where that is why.
  void start_failed(const std::string& problem) {
    if (++failed_starts_ < start_tries) return;
    failed_starts_ = 0;
    expect_available(settings_.data);
    throw RunError(fmt::format("no solver process comes up any more, the last of {} tries: {}",
                               start_tries, problem));
  }

  /// Waits so long. Returns false where a stop was requested.
  bool pause(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return !changed_->wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
  }

  /// Waits for the result of the task; leaves it pending if a stop is requested.
  Verdict follow(const Place& place, bool alone, const Task& task, const SolveControl& control,
                 PlanResult& result) {
    SilenceLeft left = plan_limit_;
    PlanProgress last;
    for (;;) {
      SolverEvent event = place.child->process->wait(place.lane, control.stop, left);
      auto* report = message_in<WorkerReport>(event);
      if (report != nullptr && report->results.size() == 1 &&
          report->results.front().index == task.index) {
        result = std::move(report->results.front());
        answered(place, alone);
        return Verdict::done;
      }
      const auto* heartbeat = message_in<Heartbeat>(event);
      if (heartbeat == nullptr || heartbeat->running.size() != 1)
        return judge(place.child, event, last, task, control, result);
      const PlanProgress& progress = heartbeat->running.front();
      if (progress.iterations > last.iterations) left = plan_limit_;
      last = progress;
      if (control.progress) control.progress(last.iterations, last.delta);
    }
  }

  void answered(const Place& place, bool alone) {
    {
      const std::scoped_lock lock(mutex_);
      --place.child->plans;
      place.child->free_lanes.push_back(place.lane);
      blamed_in_a_row_ = 0;
      if (!alone) failures_in_company_ = 0;
    }
    changed_->notify();
  }

  /// What to think of a plan without an answer, because it makes no progress or because of what
  /// became of the child.
  Verdict judge(const ChildPointer& child, const SolverEvent& event, const PlanProgress& last,
                const Task& task, const SolveControl& control, PlanResult& result) {
    if (control.stop.stop_requested()) {
      (void)finish(child, Suspects::none, "");  // nobody wants its answers any more
      return Verdict::done;
    }
    if (const auto* farewell = message_in<Farewell>(event); farewell && farewell->device_silent) {
      if (finish(child, Suspects::none, "")) note_silence(farewell->reason);
      return Verdict::again;
    }
    const bool no_progress = std::holds_alternative<TimedOut>(event);
    const std::string reason =
        trouble(event, "its", "", fmt::format("no progress for {:g} s", settings_.plan_timeout_s),
                "its solver process sent an invalid answer (the wrong message)") +
        how_far(last);
    const bool first = finish(child, no_progress ? Suspects::none : Suspects::all, reason);
    std::unique_lock lock(mutex_);
    if (!given_up_.empty()) return Verdict::again;
    const bool to_blame = no_progress ? first : child->suspects == 1;
    if (!to_blame) return child->suspects > 1 ? Verdict::again_alone : Verdict::again;
    note_blame(task, reason);
    result.status = PlanStatus::failed;
    result.may_pass = true;
    result.error = fmt::format("plan {}: {}", task.id, reason);
    start_ahead();
    return Verdict::done;
  }

  /// Saves the next plan the wait for a child that loads. With the lock held.
  void start_ahead() {
    if (child_ || starting_ || !given_up_.empty()) return;
    try {
      start();
    } catch (const RunError&) {
      // the next plan tries again, and says so where it cannot
    }
  }

  /// Ends a child that is of no use any more. Returns false where somebody else was first. Nobody
  /// starts the next while this one may hold a GPU.
  bool finish(const ChildPointer& child, Suspects suspects, const std::string& reason) {
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(child->over, true)) return false;
      if (suspects == Suspects::all) child->suspects = child->plans;
      if (suspects == Suspects::all_others) child->suspects = child->plans - 1;
      if (child->suspects > 1) note_failure_in_company(child->suspects, reason);
      child_.reset();
      starting_ = true;
    }
    kill_and_reap(child);
    starting_done();
    return true;
  }

  /// Kills it. What the kernel does not end at once is left behind.
  void kill_and_reap(const ChildPointer& child) {
    if (child->process->kill_and_reap()) return;
    const std::scoped_lock lock(mutex_);
    left_behind_.push_back(child);
  }

  void note_blame(const Task& task, const std::string& reason) {
    // The same plan may come back; it is no new evidence against the device.
    if (blamed_in_a_row_ == 0 || task.index != blamed_last_) ++blamed_in_a_row_;
    blamed_last_ = task.index;
    if (settings_.solver.gpu && blamed_in_a_row_ >= most_blamed_in_a_row)
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

  void note_silence(const std::string& reason) {
    const std::scoped_lock lock(mutex_);
    if (++silences_ >= most_silences) {
      give_up(fmt::format("{} (time {})", reason, silences_));
    } else {
      parts_.warn(fmt::format("{} on {}: {}; trying its plans again in a new process",
                              settings_.device, settings_.host, reason));
    }
  }

  void give_up(const std::string& reason) {
    given_up_ = fmt::format("{} is given up: {}", settings_.device, reason);
    changed_->notify();
  }

  JobSettings settings_;  // lanes 0 until the first child has told
  Seconds plan_limit_;
  SolverPoolParts parts_;
  std::atomic<bool> source_away_ = false;

  std::mutex mutex_;
  std::unique_ptr<Runtime::Condition> changed_;
  ChildPointer child_;
  bool starting_ = false;                  // or ending the one before
  std::atomic<int> failed_starts_ = 0;     // in a row
  std::vector<ChildPointer> left_behind_;  // killed, but not ended by the kernel yet
  std::size_t tried_alone_ = 0;            // plans that are, or wait to be
  // The device's record.
  int blamed_in_a_row_ = 0;
  std::uint32_t blamed_last_ = 0;
  int failures_in_company_ = 0;
  int silences_ = 0;
  std::string given_up_;
};

SolverPool::SolverPool(const JobSettings& settings, SolverPoolParts parts)
    : impl_(std::make_shared<Impl>(settings, std::move(parts))) {}

std::size_t SolverPool::lanes() const { return impl_->lanes(); }

PlanJob SolverPool::job() const {
  return [impl = impl_](const Task& task, const SolveControl& control) {
    return impl->solve(task, control);
  };
}

}  // namespace wallheat
