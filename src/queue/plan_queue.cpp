#include "queue/plan_queue.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace wallheat {
namespace {

// Work that is prefetched for a worker. It is far longer than a message takes.
constexpr double prefetched_work_s = 0.1;
// Plans that take longer are not prefetched: compared with them, the half second until the worker
// has its next assignment does not matter.
constexpr double long_plan_s = 5;
constexpr double max_prefetch = 1024;  // plans per worker
// Nine of ten plans take at most their predicted time times this factor.
constexpr double safety_factor = 1.3;
// Time after a failure until a plan may be retried by the worker on which it failed.
constexpr double same_worker_retry_delay_s = 60;
// Plans that assign() skips, because the worker cannot have them, before it stops searching.
constexpr int max_candidates = 64;
constexpr int max_leases = 3;  // of one plan; a fourth copy hardly ever ends first
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Increments a counter. A counter at its maximum stays there.
template <class Number>
void increment_saturating(Number& number) {
  if (number < std::numeric_limits<Number>::max()) ++number;
}

}  // namespace

PlanQueue::PlanQueue(const QueueVector<InitialState>& plans, int max_attempts)
    : max_attempts_(std::min<int>(max_attempts, std::numeric_limits<std::uint8_t>::max())),
      plans_(plans.size()),
      unfinished_(plans.size()) {
  constexpr int max_count = std::numeric_limits<std::uint16_t>::max();
  for (const QueueIndex plan : queue_indices(plans.size())) {
    plans_[plan].attempts = static_cast<std::uint16_t>(std::min(plans[plan].attempts, max_count));
    plans_[plan].failures = static_cast<std::uint16_t>(std::min(plans[plan].failures, max_count));
    enqueue(plan);
    set_estimate(plan, plans[plan].updates);
  }
}

template <class Change>
void PlanQueue::change(QueueIndex plan, Change make) {
  const bool is_queued = plans_[plan].state == State::queued;
  if (is_queued) dequeue(plan);
  make(plans_[plan]);
  if (is_queued) enqueue(plan);
}

void PlanQueue::set_estimate(QueueIndex plan, double updates) {
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
  // The upper half of a positive float is its exponent and its first seven binary digits. It grows
  // with the number.
  const auto length = std::bit_cast<std::uint32_t>(std::max(0.0F, updates)) >> 16U;
  return static_cast<std::uint32_t>(std::min(suspicion, many)) << 16U | (unknown - length);
}

/// Returns the first plan of the bucket with this key, or of the next bucket; `none` if there is no
/// such bucket.
QueueIndex PlanQueue::first_at_or_after(std::uint32_t key) const {
  const auto found = buckets_.lower_bound(key);
  return found == buckets_.end() ? none : found->second.first;
}

/// Appends the plan to its bucket.
void PlanQueue::enqueue(QueueIndex plan) {
  Entry& entry = plans_[plan];
  Bucket& bucket = buckets_[bucket_key(plan)];
  entry.state = State::queued;
  entry.prev = std::exchange(bucket.last, plan);
  entry.next = none;
  (entry.prev == none ? bucket.first : plans_[entry.prev].next) = plan;
  ++queued_;
}

/// Removes the plan from its bucket. The caller sets its new state.
void PlanQueue::dequeue(QueueIndex plan) {
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

std::size_t PlanQueue::Worker::index_of(QueueIndex plan) const {
  std::size_t index =
      0;  // results arrive roughly in the order of assignment, so this loop is short
  while (index < leases.size() && leases[index].plan != plan) ++index;
  return index;
}

void PlanQueue::on_worker_ready(int id, unsigned slots, bool shares_process,
                                const std::string& device_type) {
  const auto index = static_cast<std::size_t>(id);
  if (workers_.size() <= index) workers_.resize(index + 1);
  Worker& worker = workers_[index];
  worker_count_ += worker.slots > 0 ? 0 : 1;
  total_slots_ -= worker.slots;
  worker.slots = std::max(1U, slots);
  total_slots_ += worker.slots;
  worker.shares_process = shares_process;
  DurationModel* const model = &models_[device_type];
  if (std::exchange(worker.model, model) != model) worker.mean_plan_s = 0;
  if (std::exchange(worker.lost, false))
    for (const Lease& lease : worker.leases) add_lease_holder(lease);
}

std::vector<QueueIndex> PlanQueue::on_worker_lost(int id) {
  std::vector<QueueIndex> given_up;
  Worker* const worker = find(id);
  if (worker == nullptr || worker->lost) return given_up;
  std::size_t running = worker->slots;  // the oldest leases are those in progress
  for (const Lease& lease : worker->leases) {
    Entry& entry = plans_[lease.plan];
    const bool is_failed = running > 0 && entry.state == State::leased;
    if (is_failed) {
      --running;
      increment_saturating(entry.lost_workers);
    }
    remove_lease_holder(lease);
    if (!is_failed || entry.lost_workers < max_attempts_) continue;
    finish(lease.plan,
           State::failed);  // still becomes solved if this worker recovers and solved it
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

bool PlanQueue::on_started(int id, QueueIndex plan) {
  Worker* const worker = find(id);
  if (worker == nullptr || worker->lost) return false;
  const std::size_t index = worker->index_of(plan);
  return index < worker->leases.size() && start(worker->leases[index]);
}

/// Resets the count of the worker's host errors, unless it started the plan before the last of
/// them.
void PlanQueue::note_success(Worker& worker, QueueIndex plan) {
  worker.has_solved = true;
  const std::size_t index = worker.index_of(plan);
  if (!worker.last_host_error_s || index == worker.leases.size()) return;
  if (worker.leases[index].started_s < *worker.last_host_error_s) return;
  worker.last_host_error_s.reset();
  worker.host_errors = 0;
}

PlanQueue::Outcome PlanQueue::on_solved(int id, QueueIndex plan, double seconds) {
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
    entry.state = State::solved;  // a late result counts like any other
  else
    finish(plan, State::solved);
  return Outcome::accepted;
}

PlanQueue::Outcome PlanQueue::on_failed(int id, QueueIndex plan, bool retryable) {
  if (!has(plan)) return Outcome::duplicate;
  Worker* const worker = find(id);
  release(worker, plan);
  if (is_finished(plan)) return Outcome::duplicate;
  if (worker != nullptr) worker->last_failure_s = now_s_;
  change(plan, [&](Entry& entry) {
    increment_saturating(entry.failures);
    entry.last_failed_on = id;
  });
  if (retryable && plans_[plan].failures < max_attempts_) return Outcome::retry;
  finish(plan, State::failed);
  return Outcome::failed;
}

int PlanQueue::on_host_error(int id, QueueIndex plan) {
  Worker* const worker = find(id);
  if (worker == nullptr || !has(plan)) return 0;
  worker->last_host_error_s = static_cast<float>(now_s_);
  const bool has_failed_before = plans_[plan].last_failed_on >= 0;
  if (!worker->has_solved || !has_failed_before) ++worker->host_errors;
  return worker->host_errors;
}

void PlanQueue::on_returned(int id, QueueIndex plan, bool is_suspect) {
  if (!has(plan) || !release(find(id), plan) || !is_suspect) return;
  change(plan,
         [](Entry& entry) { entry.lost_workers = std::max<std::uint8_t>(entry.lost_workers, 1); });
}

void PlanQueue::lease(Worker& worker, QueueIndex plan) {
  const double plan_s = worker.model->predict_seconds(plans_[plan].updates);
  const double queued = std::floor(static_cast<double>(worker.leases.size()) / worker.slots);
  const double end_s = plan_s > 0 ? now_s_ + (queued + 1) * plan_s : now_s_;
  worker.leases.push_back({plan, static_cast<float>(end_s)});
  add_lease_holder(worker.leases.back());
}

bool PlanQueue::release(Worker* worker, QueueIndex plan) {
  if (worker == nullptr) return false;
  const std::size_t index = worker->index_of(plan);
  if (index == worker->leases.size()) return false;
  const auto lease = worker->leases.begin() + static_cast<std::ptrdiff_t>(index);
  if (!worker->lost) remove_lease_holder(*lease);
  worker->leases.erase(lease);
  return true;
}

/// Marks a lease of a worker that is not lost as started. Returns false if it was marked before.
bool PlanQueue::start(Lease& lease) {
  if (lease.has_started()) return false;
  lease.started_s = static_cast<float>(now_s_);
  Entry& entry = plans_[lease.plan];
  if (++entry.running == 1 && !entry.is_finished()) increment_saturating(entry.attempts);
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

void PlanQueue::finish(QueueIndex plan, State state) {
  Entry& entry = plans_[plan];
  if (entry.state == State::queued) dequeue(plan);
  entry.state = state;
  --unfinished_;
  if (entry.updates <= 0) return;
  estimated_updates_ -= entry.updates;
  --estimated_plans_;
}

std::vector<QueueIndex> PlanQueue::assign(int id, double time_left_s, bool allow_same_worker) {
  std::vector<QueueIndex> chosen;
  Worker* const worker = find(id);
  if (worker == nullptr || worker->lost || time_left_s <= 0) return chosen;
  const auto is_quarantined = [&] {
    return worker->shares_process && worker->leases.size() == 1 &&
           plans_[worker->leases[0].plan].suspicion() > 0;
  };
  if (is_quarantined()) return chosen;  // a suspect is solved alone in its process
  const std::size_t want = demand(*worker);
  if (want > 0) assign_queued(id, *worker, want, time_left_s, allow_same_worker, chosen);
  if (allows_copies_ && worker->leases.size() < worker->slots && queued_ == 0 && !is_quarantined())
    assign_copies(*worker, time_left_s, chosen);
  return chosen;
}

/// Returns how many more plans should be leased to the worker.
std::size_t PlanQueue::demand(const Worker& worker) const {
  const std::size_t held = worker.leases.size();
  const std::size_t idle = worker.slots - std::min<std::size_t>(worker.slots, held);
  if (!(worker.mean_plan_s > 0) || worker.mean_plan_s > long_plan_s) return idle;
  const double share = static_cast<double>(queued_) * worker.slots / (2 * total_slots_);
  const double backlog = std::clamp(worker.slots * prefetched_work_s / worker.mean_plan_s,
                                    1.0 * worker.slots, std::max(max_prefetch, 1.0 * worker.slots));
  const auto target = worker.slots + static_cast<std::size_t>(std::ceil(std::min(backlog, share)));
  const std::size_t prefetched = held - (worker.slots - idle);
  return idle == 0 && prefetched > (target - worker.slots) / 2 ? 0
                                                               : target - std::min(target, held);
}

/// Returns true if the worker may retry plans that failed on it.
bool PlanQueue::takes_back(const Worker& worker) const {
  if (worker_count_ < 2 && !more_are_expected_) return true;
  if (now_s_ - worker.last_failure_s <= same_worker_retry_delay_s) return false;
  return !worker.last_host_error_s || std::ranges::none_of(workers_, [&](const Worker& other) {
    return &other != &worker && other.slots > 0 && !other.lost;
  });
}

void PlanQueue::assign_queued(int id, Worker& worker, std::size_t most, double time_left_s,
                              bool allow_same_worker, std::vector<QueueIndex>& chosen) {
  const bool may_take_back = allow_same_worker || takes_back(worker);
  QueueIndex next = first_at_or_after(0);
  for (int examined = 0; chosen.size() < most && examined < max_candidates && next != none;) {
    const QueueIndex plan = next;
    const Entry& entry = plans_[plan];
    next = entry.next != none ? entry.next : first_at_or_after(bucket_key(plan) + 1);
    const std::size_t held = worker.leases.size();
    const double delay_s =
        held < worker.slots
            ? 0
            : worker.mean_plan_s * static_cast<double>(held - worker.slots + 1) / worker.slots;
    const double left_s = (time_left_s - delay_s) / safety_factor;
    if (entry.updates > 0 && worker.model->predict_seconds(entry.updates) > left_s) {
      // All longer plans do not fit either: continues with the longest plan that fits. Plans
      // without an estimate come last.
      const auto fits = static_cast<float>(std::max(0.0, worker.model->max_updates_within(left_s)));
      next = first_at_or_after(std::max(bucket_key(plan) + 1, bucket_key(entry.suspicion(), fits)));
      ++examined;
      continue;
    }
    if (entry.last_failed_on == id && !may_take_back) {
      ++examined;
      continue;
    }
    if (worker.shares_process && entry.suspicion() > 0 && held > 0)
      return;  // all plans that follow are suspects, too
    lease(worker, plan);
    chosen.push_back(plan);
  }
}

/// Returns true if another lease of the plan is allowed. If the plan is what kills workers, each
/// lease may cost a worker, so the number of leases is limited.
bool PlanQueue::may_be_copied(QueueIndex plan) const {
  const Entry& entry = plans_[plan];
  return entry.state == State::leased && entry.failures == 0 && entry.lease_count < max_leases &&
         entry.lease_count + entry.lost_workers < max_attempts_;
}

/// Sorts the leased plans by how much a copy helps: overdue plans first, because the worker may be
/// unhealthy, then those with the longest remaining time. The list is renewed at most once per 10
/// µs and lease, because the order of many plans changes little in that time.
void PlanQueue::refresh_copy_candidates() {
  constexpr double s_per_lease = 1e-5;
  constexpr double late = 1e9;
  if (now_s_ - candidates_listed_s_ < s_per_lease * static_cast<double>(active_leases_)) return;
  candidates_listed_s_ = now_s_;
  copy_candidates_.clear();
  for (const Worker& worker : workers_) {
    if (worker.lost) continue;
    for (const Lease& lease : worker.leases) {
      const double left_s = static_cast<double>(lease.expected_end_s) - now_s_;
      if (may_be_copied(lease.plan))
        copy_candidates_.emplace_back(left_s < 0 ? late - left_s : left_s, lease.plan);
    }
  }
  std::sort(copy_candidates_.begin(), copy_candidates_.end());
}

void PlanQueue::assign_copies(Worker& worker, double time_left_s, std::vector<QueueIndex>& chosen) {
  refresh_copy_candidates();
  while (!copy_candidates_.empty() && !may_be_copied(copy_candidates_.back().second))
    copy_candidates_.pop_back();
  int examined = 0;
  for (auto each = copy_candidates_.rbegin();
       each != copy_candidates_.rend() && examined < max_candidates; ++each) {
    if (worker.leases.size() >= worker.slots) return;
    ++examined;
    const auto [left_s, plan] = *each;
    if (!may_be_copied(plan) || worker.holds(plan)) continue;
    if (worker.shares_process && plans_[plan].suspicion() > 0) continue;
    // A first copy uses an idle slot and may save much time. A further copy is made only if it
    // should end in less than half of the remaining time.
    const double here_s = safety_factor * worker.model->predict_seconds(plans_[plan].updates);
    if (here_s > time_left_s || (plans_[plan].lease_count > 1 && here_s >= left_s / 2)) continue;
    lease(worker, plan);
    chosen.push_back(plan);
  }
}

double PlanQueue::predicted_s(int id, QueueIndex plan) const {
  const Worker* const worker = find(id);
  if (worker == nullptr || !has(plan) || plans_[plan].updates <= 0) return nan;
  return worker->model->predict_seconds(plans_[plan].updates);
}

/// Predicted and actual times of one device type, for seconds_left().
struct PlanQueue::Forecast {
  DurationModel::Totals totals;
  double slots = 0;
  double rate = 0;  ///< plans per second of the workers that have solved plans
  /// Returns the throughput for plans with the predicted time plan_s.
  [[nodiscard]] double plans_per_second(double plan_s) const {
    const double slowdown = totals.predicted_s > 0 ? totals.seconds / totals.predicted_s : 1;
    return plan_s > 0 ? slots / (plan_s * slowdown) : rate;
  }
};

double PlanQueue::seconds_left() const {
  const double mean =
      estimated_plans_ > 0 ? estimated_updates_ / static_cast<double>(estimated_plans_) : nan;
  std::map<const DurationModel*, Forecast> forecasts;
  for (const auto& [kind, model] : models_) forecasts[&model].totals = model.recent_totals();
  double done = 0;  // part of the plans in progress that is done, in plans of mean work
  double longest_s = 0;
  // With more leases than this, recent results suffice, and examining all leases would take long.
  constexpr std::size_t max_examined = 10'000;
  for (const Worker& worker : workers_) {
    if (worker.slots == 0 || worker.lost) continue;
    Forecast& forecast = forecasts[worker.model];
    forecast.slots += worker.slots;
    if (worker.mean_plan_s > 0) forecast.rate += worker.slots / worker.mean_plan_s;
    if (active_leases_ > max_examined) continue;
    // Plans in progress count, too, because they may be delayed more than any plan that has ended.
    for (const Lease& lease : worker.leases) {
      const Entry& entry = plans_[lease.plan];
      const double predicted_s = worker.model->predict_seconds(entry.updates);
      if (!lease.has_started() || entry.is_finished() || entry.updates <= 0 || !(predicted_s > 0))
        continue;
      const double elapsed_s = now_s_ - static_cast<double>(lease.started_s);
      const double covered_s = std::min(elapsed_s, predicted_s);
      forecast.totals.seconds += elapsed_s;
      forecast.totals.predicted_s += covered_s;
      done += covered_s / predicted_s * entry.updates / mean / entry.lease_count;
      if (entry.lease_count == 1) longest_s = std::max(longest_s, predicted_s - covered_s);
    }
  }
  double rate = 0;
  for (const auto& [model, forecast] : forecasts)
    rate += forecast.plans_per_second(model->predict_seconds(mean));
  if (!(rate > 0)) return nan;
  return std::max((static_cast<double>(unfinished_) - done) / rate, longest_s);
}

}  // namespace wallheat
