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

PlanQueue::PlanQueue(const std::vector<InitialState>& plans, int max_attempts)
    : max_attempts_(std::min<int>(max_attempts, std::numeric_limits<std::uint8_t>::max())),
      plans_(plans.size()),
      unfinished_(plans.size()) {
  constexpr int most = std::numeric_limits<std::uint16_t>::max();
  for (Index plan = 0; plan < plans.size(); ++plan) {
    plans_[plan].attempts = static_cast<std::uint16_t>(std::min(plans[plan].attempts, most));
    plans_[plan].failures = static_cast<std::uint16_t>(std::min(plans[plan].failures, most));
    enqueue(plan);
    set_estimate(plan, plans[plan].updates);
  }
}

template <class Change>
void PlanQueue::change(Index plan, Change make) {
  const bool is_open = plans_[plan].state == State::queued;
  if (is_open) dequeue(plan);
  make(plans_[plan]);
  if (is_open) enqueue(plan);
}

void PlanQueue::set_estimate(Index plan, double updates) {
  if (!has(plan) || is_finished(plan) || !std::isfinite(updates) || !(updates > 0)) return;
  change(plan, [&](Entry& entry) {
    estimated_plans_ += entry.updates > 0 ? 0 : 1;
    estimated_updates_ -= entry.updates;
    entry.updates = static_cast<float>(updates);
    estimated_updates_ += entry.updates;
  });
}

std::uint32_t PlanQueue::bucket_key(int suspicion, float updates) {
  constexpr std::uint32_t unknown = 0xFFFF;
  constexpr int many = 1000;
  // Exponent and the first seven binary digits: the larger the number, the larger these.
  const auto length = std::bit_cast<std::uint32_t>(std::max(0.0F, updates)) >> 16U;
  return static_cast<std::uint32_t>(std::min(suspicion, many)) << 16U | (unknown - length);
}

/// The first plan in this line or, if there is none, in the next that there is.
PlanQueue::Index PlanQueue::first_at_or_after(std::uint32_t line) const {
  const auto found = buckets_.lower_bound(line);
  return found == buckets_.end() ? none : found->second.first;
}

/// It goes to the end of its line.
void PlanQueue::enqueue(Index plan) {
  Entry& entry = plans_[plan];
  Bucket& line_of_it = buckets_[bucket_key(plan)];
  entry.state = State::queued;
  entry.prev = std::exchange(line_of_it.last, plan);
  entry.next = none;
  (entry.prev == none ? line_of_it.first : plans_[entry.prev].next) = plan;
  ++queued_;
}

/// It leaves its line; the caller gives it another state.
void PlanQueue::dequeue(Index plan) {
  const Entry& entry = plans_[plan];
  if (entry.prev != none) plans_[entry.prev].next = entry.next;
  if (entry.next != none) plans_[entry.next].prev = entry.prev;
  if (entry.prev == none || entry.next == none) {
    const auto found = buckets_.find(bucket_key(plan));
    if (entry.prev == none) found->second.first = entry.next;
    if (entry.next == none) found->second.last = entry.prev;
    if (found->second.first == none) buckets_.erase(found);
  }
  --queued_;
}

const PlanQueue::Worker* PlanQueue::find(int id) const {
  const auto index = static_cast<std::size_t>(id);
  return index < workers_.size() && workers_[index].slots > 0 ? &workers_[index] : nullptr;
}

PlanQueue::Worker* PlanQueue::find(int id) {
  return const_cast<Worker*>(std::as_const(*this).find(id));
}

std::size_t PlanQueue::Worker::index_of(Index plan) const {
  std::size_t index = 0;  // what is answered was given before the rest, so it is near
  while (index < leases.size() && leases[index].plan != plan) ++index;
  return index;
}

void PlanQueue::on_worker_ready(int id, unsigned slots, bool shares_process,
                                const std::string& kind) {
  const auto index = static_cast<std::size_t>(id);
  if (workers_.size() <= index) workers_.resize(index + 1);
  Worker& worker = workers_[index];
  worker_count_ += worker.slots > 0 ? 0 : 1;
  total_slots_ -= worker.slots;
  worker.slots = std::max(1U, slots);
  total_slots_ += worker.slots;
  worker.shares_process = shares_process;
  DurationModel* const model = &models_[kind];
  if (std::exchange(worker.model, model) != model) worker.mean_plan_s = 0;
  if (std::exchange(worker.lost, false))
    for (const Lease& lease : worker.leases) add_lease_holder(lease);
}

std::vector<PlanQueue::Index> PlanQueue::on_worker_lost(int id) {
  std::vector<Index> given_up;
  Worker* const worker = find(id);
  if (worker == nullptr || worker->lost) return given_up;
  std::size_t running = worker->slots;  // those that it was given first are what it was at
  for (const Lease& lease : worker->leases) {
    Entry& entry = plans_[lease.plan];
    const bool is_failed = running > 0 && entry.state == State::leased;
    if (is_failed) {
      --running;
      count(entry.lost_workers);
    }
    remove_lease_holder(lease);
    if (!is_failed || entry.lost_workers < max_attempts_) continue;
    finish(lease.plan, State::failed);  // it may still be answered, if this worker speaks again
    given_up.push_back(lease.plan);
  }
  worker->lost = true;
  return given_up;
}

void PlanQueue::on_worker_left(int id) {
  Worker* const worker = find(id);
  if (worker == nullptr) return;
  if (!worker->lost)
    for (const Lease& lease : worker->leases) remove_lease_holder(lease);
  total_slots_ -= worker->slots;
  *worker = {};
  --worker_count_;
}

bool PlanQueue::on_started(int id, Index plan) {
  Worker* const worker = find(id);
  if (worker == nullptr || worker->lost) return false;
  const std::size_t index = worker->index_of(plan);
  return index < worker->leases.size() && start(worker->leases[index]);
}

/// Forgets the worker's host errors, unless it started the plan before them.
void PlanQueue::note_success(Worker& worker, Index plan) {
  worker.has_solved = true;
  const std::size_t index = worker.index_of(plan);
  if (!worker.last_host_error_s || index == worker.leases.size()) return;
  if (worker.leases[index].started_s < *worker.last_host_error_s) return;
  worker.last_host_error_s.reset();
  worker.host_errors = 0;
}

PlanQueue::Outcome PlanQueue::on_solved(int id, Index plan, double seconds) {
  if (!has(plan)) return Outcome::duplicate;
  Entry& entry = plans_[plan];
  Worker* const worker = find(id);
  if (worker != nullptr) note_success(*worker, plan);
  release(worker, plan);
  if (worker != nullptr) {
    constexpr double weight = 0.2;
    double& mean = worker->mean_plan_s;
    mean = mean > 0 ? mean + weight * (seconds - mean) : seconds;
    if (entry.updates > 0) worker->model->add_sample(entry.updates, seconds);
  }
  if (entry.state == State::solved) return Outcome::duplicate;
  if (entry.state == State::failed)
    entry.state = State::solved;  // late, but as good as any
  else
    finish(plan, State::solved);
  return Outcome::accepted;
}

PlanQueue::Outcome PlanQueue::on_failed(int id, Index plan, bool retryable) {
  if (!has(plan)) return Outcome::duplicate;
  Worker* const worker = find(id);
  release(worker, plan);
  if (is_finished(plan)) return Outcome::duplicate;
  if (worker != nullptr) worker->last_failure_s = now_s_;
  change(plan, [&](Entry& entry) {
    count(entry.failures);
    entry.last_failed_on = id;
  });
  if (retryable && plans_[plan].failures < max_attempts_) return Outcome::retry;
  finish(plan, State::failed);
  return Outcome::failed;
}

int PlanQueue::on_host_error(int id, Index plan) {
  Worker* const worker = find(id);
  if (worker == nullptr || !has(plan)) return 0;
  worker->last_host_error_s = static_cast<float>(now_s_);
  const bool has_failed_before = plans_[plan].last_failed_on >= 0;
  if (!worker->has_solved || !has_failed_before) ++worker->host_errors;
  return worker->host_errors;
}

void PlanQueue::on_returned(int id, Index plan, bool is_suspect) {
  if (!has(plan) || !release(find(id), plan) || !is_suspect) return;
  change(plan,
         [](Entry& entry) { entry.lost_workers = std::max<std::uint8_t>(entry.lost_workers, 1); });
}

void PlanQueue::lease(Worker& worker, Index plan) {
  const double plan_s = worker.model->predict_seconds(plans_[plan].updates);
  const double queued = std::floor(static_cast<double>(worker.leases.size()) / worker.slots);
  const double end_s = plan_s > 0 ? now_s_ + (queued + 1) * plan_s : now_s_;
  worker.leases.push_back({plan, static_cast<float>(end_s)});
  add_lease_holder(worker.leases.back());
}

bool PlanQueue::release(Worker* worker, Index plan) {
  if (worker == nullptr) return false;
  const std::size_t index = worker->index_of(plan);
  if (index == worker->leases.size()) return false;
  const auto lease = worker->leases.begin() + static_cast<std::ptrdiff_t>(index);
  if (!worker->lost) remove_lease_holder(*lease);
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

void PlanQueue::add_lease_holder(const Lease& lease) {
  Entry& entry = plans_[lease.plan];
  if (entry.state == State::queued) {
    dequeue(lease.plan);
    entry.state = State::leased;
  }
  ++entry.lease_count;
  entry.running += lease.has_started() ? 1 : 0;
  ++active_leases_;
}

void PlanQueue::remove_lease_holder(const Lease& lease) {
  Entry& entry = plans_[lease.plan];
  --active_leases_;
  entry.running -= lease.has_started() ? 1 : 0;
  if (--entry.lease_count == 0 && entry.state == State::leased) enqueue(lease.plan);
}

void PlanQueue::finish(Index plan, State state) {
  Entry& entry = plans_[plan];
  if (entry.state == State::queued) dequeue(plan);
  entry.state = state;
  --unfinished_;
  if (entry.updates <= 0) return;
  estimated_updates_ -= entry.updates;
  --estimated_plans_;
}

}  // namespace wallheat
