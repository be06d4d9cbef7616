#include "queue/plan_queue.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace wallheat {
namespace {

/// Counts one more, as far as the number goes.
template <class Number>
void count(Number& number) {
  if (number < std::numeric_limits<Number>::max()) ++number;
}

}  // namespace

PlanQueue::PlanQueue(const std::vector<Start>& plans, int max_attempts)
    : max_attempts_(std::min<int>(max_attempts, std::numeric_limits<std::uint8_t>::max())),
      plans_(plans.size()),
      unfinished_(plans.size()) {
  constexpr int most = std::numeric_limits<std::uint16_t>::max();
  for (Plan plan = 0; plan < plans.size(); ++plan) {
    plans_[plan].attempts = static_cast<std::uint16_t>(std::min(plans[plan].attempts, most));
    plans_[plan].failures = static_cast<std::uint16_t>(std::min(plans[plan].failures, most));
    open(plan);
    set_updates(plan, plans[plan].updates);
  }
}

template <class Change>
void PlanQueue::change(Plan plan, Change make) {
  const bool is_open = plans_[plan].state == State::open;
  if (is_open) close(plan);
  make(plans_[plan]);
  if (is_open) open(plan);
}

void PlanQueue::set_updates(Plan plan, double updates) {
  if (!has(plan) || is_finished(plan) || !std::isfinite(updates) || !(updates > 0)) return;
  change(plan, [&](Entry& entry) {
    known_ += entry.updates > 0 ? 0 : 1;
    updates_ -= entry.updates;
    entry.updates = static_cast<float>(updates);
    updates_ += entry.updates;
  });
}

std::uint32_t PlanQueue::line(int troubles, float updates) {
  constexpr std::uint32_t unknown = 0xFFFF;
  constexpr int many = 1000;
  // Exponent and the first seven binary digits: the larger the number, the larger these.
  const auto length = std::bit_cast<std::uint32_t>(std::max(0.0F, updates)) >> 16U;
  return static_cast<std::uint32_t>(std::min(troubles, many)) << 16U | (unknown - length);
}

/// The first plan in this line or, if there is none, in the next that there is.
PlanQueue::Plan PlanQueue::first_from(std::uint32_t line) const {
  const auto found = lines_.lower_bound(line);
  return found == lines_.end() ? none : found->second.first;
}

/// It goes to the end of its line.
void PlanQueue::open(Plan plan) {
  Entry& entry = plans_[plan];
  Line& line_of_it = lines_[line(plan)];
  entry.state = State::open;
  entry.before = std::exchange(line_of_it.last, plan);
  entry.after = none;
  (entry.before == none ? line_of_it.first : plans_[entry.before].after) = plan;
  ++open_;
}

/// It leaves its line; the caller gives it another state.
void PlanQueue::close(Plan plan) {
  const Entry& entry = plans_[plan];
  if (entry.before != none) plans_[entry.before].after = entry.after;
  if (entry.after != none) plans_[entry.after].before = entry.before;
  if (entry.before == none || entry.after == none) {
    const auto found = lines_.find(line(plan));
    if (entry.before == none) found->second.first = entry.after;
    if (entry.after == none) found->second.last = entry.before;
    if (found->second.first == none) lines_.erase(found);
  }
  --open_;
}

const PlanQueue::Worker* PlanQueue::find(int id) const {
  const auto index = static_cast<std::size_t>(id);
  return index < workers_.size() && workers_[index].lanes > 0 ? &workers_[index] : nullptr;
}

PlanQueue::Worker* PlanQueue::find(int id) {
  return const_cast<Worker*>(std::as_const(*this).find(id));
}

std::size_t PlanQueue::Worker::index_of(Plan plan) const {
  std::size_t index = 0;  // what is answered was given before the rest, so it is near
  while (index < leases.size() && leases[index].plan != plan) ++index;
  return index;
}

void PlanQueue::joined(int id, unsigned lanes, bool shares_process, const std::string& kind) {
  const auto index = static_cast<std::size_t>(id);
  if (workers_.size() <= index) workers_.resize(index + 1);
  Worker& worker = workers_[index];
  here_ += worker.lanes > 0 ? 0 : 1;
  all_lanes_ -= worker.lanes;
  worker.lanes = std::max(1U, lanes);
  all_lanes_ += worker.lanes;
  worker.shares_process = shares_process;
  Pace* const pace = &paces_[kind];
  if (std::exchange(worker.pace, pace) != pace) worker.mean_s = 0;
  if (std::exchange(worker.silent, false))
    for (const Lease& lease : worker.leases) count_holder(lease);
}

std::vector<PlanQueue::Plan> PlanQueue::silent(int id) {
  std::vector<Plan> given_up;
  Worker* const worker = find(id);
  if (worker == nullptr || worker->silent) return given_up;
  std::size_t running = worker->lanes;  // those that it was given first are what it was at
  for (const Lease& lease : worker->leases) {
    Entry& entry = plans_[lease.plan];
    const bool is_blamed = running > 0 && entry.state == State::held;
    if (is_blamed) {
      --running;
      count(entry.losses);
    }
    discount_holder(lease);
    if (!is_blamed || entry.losses < max_attempts_) continue;
    finish(lease.plan, State::failed);  // it may still be answered, if this worker speaks again
    given_up.push_back(lease.plan);
  }
  worker->silent = true;
  return given_up;
}

void PlanQueue::gone(int id) {
  Worker* const worker = find(id);
  if (worker == nullptr) return;
  if (!worker->silent)
    for (const Lease& lease : worker->leases) discount_holder(lease);
  all_lanes_ -= worker->lanes;
  *worker = {};
  --here_;
}

bool PlanQueue::started(int id, Plan plan) {
  Worker* const worker = find(id);
  if (worker == nullptr || worker->silent) return false;
  const std::size_t index = worker->index_of(plan);
  return index < worker->leases.size() && start(worker->leases[index]);
}

PlanQueue::Outcome PlanQueue::answered(int id, Plan plan, double seconds) {
  if (!has(plan)) return Outcome::second;
  Entry& entry = plans_[plan];
  Worker* const worker = find(id);
  release(worker, plan);
  if (worker != nullptr) {
    constexpr double weight = 0.2;
    double& mean = worker->mean_s;
    mean = mean > 0 ? mean + weight * (seconds - mean) : seconds;
    if (entry.updates > 0) worker->pace->learn(entry.updates, seconds);
  }
  if (entry.state == State::answered) return Outcome::second;
  if (entry.state == State::failed)
    entry.state = State::answered;  // late, but as good as any
  else
    finish(plan, State::answered);
  return Outcome::first;
}

PlanQueue::Outcome PlanQueue::failed(int id, Plan plan, bool retryable) {
  if (!has(plan)) return Outcome::second;
  Worker* const worker = find(id);
  release(worker, plan);
  if (is_finished(plan)) return Outcome::second;
  if (worker != nullptr) worker->failed_s = now_s_;
  change(plan, [&](Entry& entry) {
    count(entry.failures);
    entry.avoid = id;
  });
  if (retryable && plans_[plan].failures < max_attempts_) return Outcome::again;
  finish(plan, State::failed);
  return Outcome::failed;
}

void PlanQueue::returned(int id, Plan plan, bool shaken) {
  if (!has(plan) || !release(find(id), plan) || !shaken) return;
  change(plan, [](Entry& entry) { entry.losses = std::max<std::uint8_t>(entry.losses, 1); });
}

void PlanQueue::hold(Worker& worker, Plan plan) {
  const double plan_s = worker.pace->seconds_for(plans_[plan].updates);
  const double queued = std::floor(static_cast<double>(worker.leases.size()) / worker.lanes);
  const double end_s = plan_s > 0 ? now_s_ + (queued + 1) * plan_s : now_s_;
  worker.leases.push_back({plan, static_cast<float>(end_s)});
  count_holder(worker.leases.back());
}

bool PlanQueue::release(Worker* worker, Plan plan) {
  if (worker == nullptr) return false;
  const std::size_t index = worker->index_of(plan);
  if (index == worker->leases.size()) return false;
  const auto lease = worker->leases.begin() + static_cast<std::ptrdiff_t>(index);
  if (!worker->silent) discount_holder(*lease);
  worker->leases.erase(lease);
  return true;
}

/// The worker is not silent. Returns false if the start was known.
bool PlanQueue::start(Lease& lease) {
  if (lease.has_started()) return false;
  lease.started_s = static_cast<float>(now_s_);
  Entry& entry = plans_[lease.plan];
  if (++entry.running == 1 && !entry.is_finished()) count(entry.attempts);
  return true;
}

void PlanQueue::count_holder(const Lease& lease) {
  Entry& entry = plans_[lease.plan];
  if (entry.state == State::open) {
    close(lease.plan);
    entry.state = State::held;
  }
  ++entry.holders;
  entry.running += lease.has_started() ? 1 : 0;
  ++leases_;
}

void PlanQueue::discount_holder(const Lease& lease) {
  Entry& entry = plans_[lease.plan];
  --leases_;
  entry.running -= lease.has_started() ? 1 : 0;
  if (--entry.holders == 0 && entry.state == State::held) open(lease.plan);
}

void PlanQueue::finish(Plan plan, State state) {
  Entry& entry = plans_[plan];
  if (entry.state == State::open) close(plan);
  entry.state = state;
  --unfinished_;
  if (entry.updates <= 0) return;
  updates_ -= entry.updates;
  --known_;
}

}  // namespace wallheat
