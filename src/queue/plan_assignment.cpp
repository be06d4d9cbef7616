#include <algorithm>
#include <cmath>

#include "queue/plan_queue.hpp"

// What a worker gets, and when all will be done.

namespace wallheat {
namespace {

constexpr double waiting_s = 0.1;  // what waits at a worker lasts: far longer than a message's way
// Longer plans do not wait at a worker: half a second until it gets an answer is little then.
constexpr double long_plan_s = 5;
constexpr double max_prefetch = 1024;
constexpr double safety_factor = 1.3;  // nine of ten plans take no longer than predicted times this
constexpr double same_worker_retry_delay_s = 60;  // then a plan is tried again where it failed
constexpr int max_candidates = 64;                // at plans that the worker cannot have
constexpr int max_leases = 3;                     // more copies are hardly ever sooner
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<PlanQueue::Index> PlanQueue::assign(int id, double time_left_s,
                                                bool allow_same_worker) {
  std::vector<Index> chosen;
  Worker* const worker = find(id);
  if (worker == nullptr || worker->lost || time_left_s <= 0) return chosen;
  const auto is_quarantined = [&] {
    return worker->shares_process && worker->leases.size() == 1 &&
           plans_[worker->leases[0].plan].suspicion() > 0;
  };
  if (is_quarantined()) return chosen;  // nothing keeps it company
  const std::size_t want = demand(*worker);
  if (want > 0) assign_queued(id, *worker, want, time_left_s, allow_same_worker, chosen);
  if (worker->leases.size() < worker->slots && queued_ == 0 && !is_quarantined())
    assign_copies(*worker, time_left_s, chosen);
  return chosen;
}

/// How many more it should hold.
std::size_t PlanQueue::demand(const Worker& worker) const {
  const std::size_t held = worker.leases.size();
  const std::size_t idle = worker.slots - std::min<std::size_t>(worker.slots, held);
  if (!(worker.mean_plan_s > 0) || worker.mean_plan_s > long_plan_s) return idle;
  const double share = static_cast<double>(queued_) * worker.slots / (2 * total_slots_);
  const double backlog = std::clamp(worker.slots * waiting_s / worker.mean_plan_s,
                                    1.0 * worker.slots, std::max(max_prefetch, 1.0 * worker.slots));
  const auto most = worker.slots + static_cast<std::size_t>(std::ceil(std::min(backlog, share)));
  const std::size_t waiting = held - (worker.slots - idle);
  return idle == 0 && waiting > (most - worker.slots) / 2 ? 0 : most - std::min(most, held);
}

/// Returns true if the worker may get plans again that failed there.
bool PlanQueue::takes_back(const Worker& worker) const {
  if (worker_count_ < 2 && !more_are_expected_) return true;
  if (now_s_ - worker.last_failure_s <= same_worker_retry_delay_s) return false;
  return !worker.last_host_error_s || std::ranges::none_of(workers_, [&](const Worker& other) {
    return &other != &worker && other.slots > 0 && !other.lost;
  });
}

void PlanQueue::assign_queued(int id, Worker& worker, std::size_t most, double time_left_s,
                              bool allow_same_worker, std::vector<Index>& chosen) {
  const bool may_take_back = allow_same_worker || takes_back(worker);
  Index next = first_at_or_after(0);
  for (int examined = 0; chosen.size() < most && examined < max_candidates && next != none;) {
    const Index plan = next;
    const Entry& entry = plans_[plan];
    next = entry.next != none ? entry.next : first_at_or_after(bucket_key(plan) + 1);
    const std::size_t held = worker.leases.size();
    const double delay_s =
        held < worker.slots
            ? 0
            : worker.mean_plan_s * static_cast<double>(held - worker.slots + 1) / worker.slots;
    const double left_s = (time_left_s - delay_s) / safety_factor;
    if (entry.updates > 0 && worker.model->predict_seconds(entry.updates) > left_s) {
      // So are all that are longer: on with the longest that fits. Those of unknown length come
      // last.
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
      return;  // so are all that follow
    lease(worker, plan);
    chosen.push_back(plan);
  }
}

/// Each of its holders is one that it may cost, if it is what kills workers.
bool PlanQueue::may_be_copied(Index plan) const {
  const Entry& entry = plans_[plan];
  return entry.state == State::leased && entry.failures == 0 && entry.lease_count < max_leases &&
         entry.lease_count + entry.lost_workers < max_attempts_;
}

/// Those that are late go first, as their holder may be sick, then those that will take longest.
/// The order of many is much the same a moment later.
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

void PlanQueue::assign_copies(Worker& worker, double time_left_s, std::vector<Index>& chosen) {
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
    // One copy costs nothing and may save much; another only if it should be done well before.
    const double here_s = safety_factor * worker.model->predict_seconds(plans_[plan].updates);
    if (here_s > time_left_s || (plans_[plan].lease_count > 1 && here_s >= left_s / 2)) continue;
    lease(worker, plan);
    chosen.push_back(plan);
  }
}

double PlanQueue::predicted_s(int id, Index plan) const {
  const Worker* const worker = find(id);
  if (worker == nullptr || !has(plan) || plans_[plan].updates <= 0) return nan;
  return worker->model->predict_seconds(plans_[plan].updates);
}

/// What was predicted for the work of one kind of device, and what it took.
struct PlanQueue::Forecast {
  DurationModel::Totals totals;
  double slots = 0;
  double rate = 0;  ///< plans a second, as far as its workers have solved some
  [[nodiscard]] double plans_a_second(double plan_s) const {
    const double held_up = totals.predicted_s > 0 ? totals.seconds / totals.predicted_s : 1;
    return plan_s > 0 ? slots / (plan_s * held_up) : rate;
  }
};

double PlanQueue::seconds_left() const {
  const double mean =
      estimated_plans_ > 0 ? estimated_updates_ / static_cast<double>(estimated_plans_) : nan;
  std::map<const DurationModel*, Forecast> forecasts;
  for (const auto& [kind, model] : models_) forecasts[&model].totals = model.recent_totals();
  double done = 0;  // of the running plans, in plans of mean work
  double longest_s = 0;
  // If there are more, enough plans have just ended to tell as much, and to look at all takes long.
  constexpr std::size_t max_examined = 10'000;
  for (const Worker& worker : workers_) {
    if (worker.slots == 0 || worker.lost) continue;
    Forecast& forecast = forecasts[worker.model];
    forecast.slots += worker.slots;
    if (worker.mean_plan_s > 0) forecast.rate += worker.slots / worker.mean_plan_s;
    if (active_leases_ > max_examined) continue;
    // Plans at hand count, too, as they may be held up for longer than any that has ended.
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
    rate += forecast.plans_a_second(model->predict_seconds(mean));
  if (!(rate > 0)) return nan;
  return std::max((static_cast<double>(unfinished_) - done) / rate, longest_s);
}

}  // namespace wallheat
