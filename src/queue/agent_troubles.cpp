#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "queue/agent.hpp"

// What goes wrong at a worker, and who is to blame.

namespace wallheat {
namespace {

// From a busy file system a program can take long to load.
constexpr double start_limit_s = 120;
// How often in a row a process may end before it has begun with a plan. The last try waits a while.
constexpr int start_tries = 3;
constexpr double pause_before_last_start_s = 1;
// When a GPU is to blame: if this many different plans in a row failed on it; or if it failed this
// often with several plans at once, so that no single one can be blamed.
constexpr int most_blamed_in_a_row = 3;
constexpr int most_failures_in_company = 5;
// Or if it fell silent this often. Each time costs half a minute, and is no plan's fault.
constexpr int most_silences = 2;
constexpr double source_timeout_s = 120;  // how long plans that cannot be read are waited for
constexpr double source_pause_s = 1;      // before they are tried again

std::string how_far(const PlanProgress& last) {
  if (last.iterations == 0) return "";
  return fmt::format(" (iteration {}, delta {:.3g} °C)", last.iterations, last.delta);
}

}  // namespace

void Agent::heard(std::size_t number, const SourceAway& away) {
  Seat& seat = seats_[number];
  const auto held = seat.find(away.plan);
  if (held == seat.plans.end()) return;
  stock_.push_front(take_off(seat, held));
  wait_for_source(away.reason);
}

void Agent::wait_for_source(const std::string& reason) {
  if (!away_) {
    away_ = Away{now_s_, now_s_};
    outbox.warnings.push_back(fmt::format("on {}: {}; waiting up to {:.0f} s for it",
                                          device().facts.host, reason, source_timeout_s));
  }
  if (now_s_ - away_->since_s >= source_timeout_s) return leave(Bye::Why::source_away, reason);
  if (now_s_ >= away_->next_try_s) away_->next_try_s = now_s_ + source_pause_s;
}

void Agent::heard(std::size_t number, const SeatEnd& end) {
  const auto stage = seats_[number].stage;
  const bool died = end.why == SeatEnd::Why::died;
  if (stage == Seat::Stage::loads && end.why == SeatEnd::Why::source_away) {
    wait_for_source(end.reason);
    if (!bye_) start(number, away_->next_try_s - now_s_);
  } else if (stage == Seat::Stage::loads) {
    start_failed(number,
                 died ? fmt::format("a solver process {} at its start", end.reason) : end.reason);
  } else if (stage == Seat::Stage::ready && end.why == SeatEnd::Why::device_silent) {
    device_silent(number, end.reason);
  } else if (stage == Seat::Stage::ready) {
    failed(number, died ? "its solver process " + end.reason : end.reason);
  }
}

/// A process ended that was at no plan.
void Agent::start_failed(std::size_t number, const std::string& problem) {
  const int failures = ++seats_[number].failed_starts;
  if (failures < start_tries)
    return start(number, failures == start_tries - 1 ? pause_before_last_start_s : 0);
  const auto& gpu = device().facts.gpu;
  if (reported_ready_)
    give_up(fmt::format("no solver process comes up any more, the last of {} tries: {}",
                        start_tries, problem));
  else if (gpu)
    give_up(fmt::format("GPU {} ({}, {}) cannot be used: {}", gpu->ordinal, gpu->name, gpu->uuid,
                        problem));
  else
    give_up(problem);
}

/// A process is of no use any more, and a plan in it may be the reason.
void Agent::failed(std::size_t number, const std::string& reason) {
  const auto begun = take_begun(number);
  if (begun.empty()) return start_failed(number, reason + " before it began");
  start(number);
  if (begun.size() == 1) return blame(begun.front(), reason);
  for (const HeldPlan& held : begun) news_.shaken.push_back(held.task.plan);
  warn(fmt::format("{}; trying its {} plans again one by one", reason, begun.size()));
  if (++failures_in_company_ >= most_failures_in_company)
    give_up_for(
        fmt::format("it failed {} times in a row with several plans at once, the last time: {}",
                    failures_in_company_, reason));
}

void Agent::device_silent(std::size_t number, const std::string& reason) {
  for (const HeldPlan& held : take_begun(number)) news_.returned.push_back(held.task.plan);
  start(number);
  if (++silences_ >= most_silences)
    return give_up_for(fmt::format("{} (time {})", reason, silences_));
  warn(fmt::format("{}; trying its plans again in a new process", reason));
}

/// Returns what a process had begun with; the rest goes back to the stock.
std::vector<Agent::HeldPlan> Agent::take_begun(std::size_t number) {
  std::vector<HeldPlan> plans = std::exchange(seats_[number].plans, {});
  const auto others =
      std::stable_partition(plans.begin(), plans.end(), std::mem_fn(&HeldPlan::begun));
  for (auto each = plans.end(); each != others;) stock_.push_front(std::move((--each)->task));
  plans.erase(others, plans.end());
  return plans;
}

void Agent::blame(const HeldPlan& held, const std::string& what) {
  const auto& [plan, id, entry_offsets] = held.task;
  const std::string reason = what + how_far(held.progress);
  news_.results.push_back({.plan = plan,
                           .kind = Result::Kind::retryable,
                           .seconds = now_s_ - held.turn_s,
                           .error = reason});
  // The same plan may come back; it is no new evidence against the device.
  if (blamed_in_a_row_ == 0 || plan != blamed_last_) ++blamed_in_a_row_;
  blamed_last_ = plan;
  if (device().facts.gpu && blamed_in_a_row_ >= most_blamed_in_a_row)
    give_up_for(fmt::format("{} plans in a row failed on it, the last one, {}: {}",
                            blamed_in_a_row_, id, reason));
}

void Agent::give_up_for(const std::string& reason) {
  give_up(fmt::format("{} is given up: {}", device().facts.device, reason));
}

void Agent::give_up(const std::string& reason) {
  const bool unused_gpu = !reported_ready_ && device().facts.gpu;
  if (device_ + 1 == devices_.size())
    return leave(Bye::Why::broken, unused_gpu ? reason + "; --device cpu does without" : reason);
  outbox.warnings.push_back(
      fmt::format("on {}: {}; {}", device().facts.host, reason,
                  unused_gpu ? "solving on the CPU instead" : "its plans are solved on the CPU"));
  for (std::size_t number = 0; number < seats_.size(); ++number)
    for (const HeldPlan& held : take_begun(number)) news_.returned.push_back(held.task.plan);
  stop_seats();
  ++device_;
  start_device();
}

/// Says one sentence about the device.
void Agent::warn(const std::string& sentence) {
  outbox.warnings.push_back(
      fmt::format("{} on {}: {}", device().facts.device, device().facts.host, sentence));
}

void Agent::look_at(std::size_t number) {
  Seat& seat = seats_[number];
  if (seat.stage == Seat::Stage::waits && now_s_ >= seat.since_s) return start(number);
  if (seat.stage == Seat::Stage::loads && now_s_ - seat.since_s > start_limit_s)
    return start_failed(
        number, fmt::format("a solver process did not start within {:.0f} s", start_limit_s));
  const double limit_s = device().plan_timeout_s > 0 ? device().plan_timeout_s
                                                     : std::numeric_limits<double>::infinity();
  for (const HeldPlan& held : seat.at_work())
    if (now_s_ - held.progress_s > (held.begun ? limit_s : std::min(limit_s, start_limit_s)))
      return no_progress(number, held.task.plan);
}

/// The plan that hangs is to blame, unless the process has not begun with it.
void Agent::no_progress(std::size_t number, std::uint32_t plan) {
  const auto begun = take_begun(number);
  const HeldPlan* hung = nullptr;
  for (const HeldPlan& held : begun) {
    if (held.task.plan == plan)
      hung = &held;
    else
      news_.returned.push_back(held.task.plan);
  }
  if (hung == nullptr) return start_failed(number, "a solver process does not begin");
  start(number);
  blame(*hung, fmt::format("no progress for {:g} s", device().plan_timeout_s));
}

}  // namespace wallheat
