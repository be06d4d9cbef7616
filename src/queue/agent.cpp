#include "queue/agent.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace wallheat {
namespace {

constexpr double news_interval_s = 0.005;
// If plans take less than this, a process has enough of them in its socket to last for a while: a
// busy core may have no time for the worker for some milliseconds.
constexpr double short_plan_s = 0.1;
constexpr double ahead_s = 0.02;
constexpr std::size_t most_ahead = 32;
// A record of this size is sent at once, so that no message comes near MPI's limit of 2 GiB.
constexpr std::size_t large_record_bytes = 1 << 20;

}  // namespace

void Agent::open(std::vector<Device> devices) {
  if (bye_) return;
  devices_ = std::move(devices);
  start_device();
}

void Agent::start_device() {
  reported_ready_ = false;
  for (std::size_t count = device().seats; count > 0; --count) {
    seats_.emplace_back();
    start(seats_.size() - 1);
  }
}

void Agent::start(std::size_t number, double pause_s) {
  Seat& seat = seats_[number];
  if (seat.runs()) order(Order::Kind::kill, number);
  seat.plans.clear();
  seat.lanes = 0;
  seat.stage = pause_s > 0 ? Seat::Stage::waits : Seat::Stage::loads;
  seat.since_s = now_s_ + pause_s;
  if (pause_s <= 0) order(Order::Kind::start, number);
}

void Agent::heard(const Work& work) {
  stock_.insert(stock_.end(), work.tasks.begin(), work.tasks.end());
}

void Agent::heard(const Stop&) {
  if (!bye_) return leave(Bye::Why::asked_to, "stopped");
  outbox.messages.emplace_back(*bye_);
}

void Agent::leave(Bye::Why why, const std::string& reason) {
  if (bye_) return;
  bye_ = Bye{why, reason, running()};
  stop_seats();
  stock_.clear();
  if (news_.has_news()) report();
  outbox.messages.emplace_back(*bye_);
}

void Agent::stop_seats() {
  for (std::size_t number = 0; number < seats_.size(); ++number) {
    if (seats_[number].runs()) order(Order::Kind::kill, number);
    seats_[number] = {};
  }
}

void Agent::heard(std::size_t number, const SeatReady& ready) {
  Seat& seat = seats_[number];
  if (seat.stage != Seat::Stage::loads) return;
  if (ready.lanes == 0)
    return start_failed(number, "a solver process says what it should not at its start");
  seat.stage = Seat::Stage::ready;
  seat.lanes = ready.lanes;
  seat.ahead = 0;
  seat.cpus = ready.cpus;
  away_.reset();  // it has opened the source
  if (reported_ready_) return;
  WorkerFacts facts = device().facts;
  facts.lanes = 0;
  std::set<int> cpus;
  for (std::size_t each = seats_.size() - device().seats; each < seats_.size(); ++each) {
    if (seats_[each].stage != Seat::Stage::ready) return;
    cpus.insert(seats_[each].cpus.begin(), seats_[each].cpus.end());
    facts.lanes += static_cast<std::uint32_t>(seats_[each].lanes);
  }
  facts.shares_process = facts.lanes > device().seats;
  facts.bound_cpus.assign(cpus.begin(), cpus.end());
  news_.ready = facts;
  reported_ready_ = true;
}

void Agent::progressed(std::size_t number, const PlanProgress& progress) {
  Seat& seat = seats_[number];
  const auto held = seat.find(progress.plan);
  if (held == seat.plans.end()) return;
  if (!held->begun || progress.iterations != held->progress.iterations) held->progress_s = now_s_;
  held->begun = true;
  held->progress = progress;
  seat.failed_starts = 0;
}

void Agent::heard(std::size_t number, Result result) {
  Seat& seat = seats_[number];
  if (seat.stage != Seat::Stage::ready) return;
  const auto held = seat.find(result.plan);
  if (held == seat.plans.end()) {
    if (!seat.plans.empty()) seat.plans.front().begun = true;
    return failed(number, "its solver process sent an invalid answer (the wrong message)");
  }
  held->begun = true;
  if (std::ranges::count_if(seat.plans, &HeldPlan::begun) > 1) failures_in_company_ = 0;
  blamed_in_a_row_ = 0;
  seat.failed_starts = 0;
  if (away_ && held->turn_s > away_->since_s) away_.reset();
  const double seconds = std::max(result.seconds, ahead_s / most_ahead);
  seat.ahead = static_cast<std::size_t>(seconds < short_plan_s ? std::ceil(ahead_s / seconds) : 0);
  (void)take_off(seat, held);
  const bool is_large = result.record.size() >= large_record_bytes;
  news_.results.push_back(std::move(result));
  if (is_large) report();
}

void Agent::tick(double awake_s) {
  now_s_ = awake_s;
  for (std::size_t number = 0; number < seats_.size(); ++number) look_at(number);
  feed();
  // As long as no lane waits for plans, the news of a few milliseconds travels together.
  const double interval_s = !news_.has_news() ? sign_s_ : is_idle() ? 0 : news_interval_s;
  if (now_s_ - reported_s_ >= interval_s) report();
}

/// The process is done with a plan, so the next one has its turn.
Task Agent::take_off(Seat& seat, std::vector<HeldPlan>::iterator held) {
  Task task = std::move(held->task);
  seat.plans.erase(held);
  if (seat.plans.size() >= seat.lanes) {
    HeldPlan& next = seat.plans[seat.lanes - 1];
    next.turn_s = next.progress_s = now_s_;
  }
  return task;
}

void Agent::feed() {
  if (away_ && now_s_ < away_->next_try_s) return;
  std::size_t deepest = 0;
  for (const Seat& seat : seats_) deepest = std::max(deepest, seat.ahead);
  for (std::size_t depth = 0; depth <= deepest && !stock_.empty(); ++depth)
    for (std::size_t number = 0; number < seats_.size(); ++number) {
      Seat& seat = seats_[number];
      const std::size_t most = seat.lanes * (1 + std::min(depth, seat.ahead));
      for (; seat.plans.size() < most && !stock_.empty(); stock_.pop_front()) {
        outbox.orders.push_back({Order::Kind::give, number, stock_.front()});
        seat.plans.push_back({std::move(stock_.front()), now_s_, now_s_});
      }
    }
}

bool Agent::waits_for_rank_0() const {
  return running().empty() && std::ranges::none_of(seats_, [](const Seat& seat) {
           return seat.stage == Seat::Stage::loads;
         });
}

bool Agent::is_idle() const {
  return std::ranges::any_of(seats_,
                             [](const Seat& seat) { return seat.plans.size() < seat.lanes; });
}

std::vector<PlanProgress> Agent::running() const {
  std::vector<PlanProgress> all;
  for (const Seat& seat : seats_)
    for (const HeldPlan& held : seat.at_work()) {
      all.push_back(held.progress);
      all.back().plan = held.task.plan;
      all.back().seconds = now_s_ - held.turn_s;
    }
  return all;
}

void Agent::report() {
  news_.running = running();
  outbox.messages.emplace_back(std::exchange(news_, {}));
  reported_s_ = now_s_;
}

}  // namespace wallheat
