#include <algorithm>
#include <cmath>

#include "queue/plan_queue.hpp"

// What a worker gets, and when all will be done.

namespace wallheat {
namespace {

constexpr double waiting_s = 0.1;  // what waits at a worker lasts: far longer than a message's way
// Longer plans do not wait at a worker: half a second until it gets an answer is little then.
constexpr double long_plan_s = 5;
constexpr double most_waiting = 1024;
constexpr double caution = 1.3;  // nine of ten plans take no longer than predicted times this
constexpr double wait_for_others_s = 60;  // then a plan is tried again where it failed
constexpr int most_looks = 64;            // at plans that the worker cannot have
constexpr int most_holders = 3;           // more copies are hardly ever sooner
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<PlanQueue::Plan> PlanQueue::give(int id, double time_left_s, bool at_last) {
  std::vector<Plan> chosen;
  Worker* const worker = find(id);
  if (worker == nullptr || worker->silent || time_left_s <= 0) return chosen;
  const auto has_troubled_alone = [&] {
    return worker->shares_process && worker->leases.size() == 1 &&
           plans_[worker->leases[0].plan].troubles() > 0;
  };
  if (has_troubled_alone()) return chosen;  // nothing keeps it company
  const std::size_t want = wanted(*worker);
  if (want > 0) give_open(id, *worker, want, time_left_s, at_last, chosen);
  if (worker->leases.size() < worker->lanes && open_ == 0 && !has_troubled_alone())
    give_copies(*worker, time_left_s, chosen);
  return chosen;
}

/// How many more it should hold.
std::size_t PlanQueue::wanted(const Worker& worker) const {
  const std::size_t held = worker.leases.size();
  const std::size_t idle = worker.lanes - std::min<std::size_t>(worker.lanes, held);
  if (!(worker.mean_s > 0) || worker.mean_s > long_plan_s) return idle;
  const double share = static_cast<double>(open_) * worker.lanes / (2 * all_lanes_);
  const double stock = std::clamp(worker.lanes * waiting_s / worker.mean_s, 1.0 * worker.lanes,
                                  std::max(most_waiting, 1.0 * worker.lanes));
  const auto most = worker.lanes + static_cast<std::size_t>(std::ceil(std::min(stock, share)));
  const std::size_t waiting = held - (worker.lanes - idle);
  return idle == 0 && waiting > (most - worker.lanes) / 2 ? 0 : most - std::min(most, held);
}

void PlanQueue::give_open(int id, Worker& worker, std::size_t most, double time_left_s,
                          bool at_last, std::vector<Plan>& chosen) {
  const bool takes_back =
      at_last || (here_ < 2 && !more_are_expected_) || now_s_ - worker.failed_s > wait_for_others_s;
  Plan next = first_from(0);
  for (int looks = 0; chosen.size() < most && looks < most_looks && next != none;) {
    const Plan plan = next;
    const Entry& entry = plans_[plan];
    next = entry.after != none ? entry.after : first_from(line(plan) + 1);
    const std::size_t held = worker.leases.size();
    const double delay_s =
        held < worker.lanes
            ? 0
            : worker.mean_s * static_cast<double>(held - worker.lanes + 1) / worker.lanes;
    const double left_s = (time_left_s - delay_s) / caution;
    if (entry.updates > 0 && worker.pace->seconds_for(entry.updates) > left_s) {
      // So are all that are longer: on with the longest that fits. Those of unknown length come
      // last.
      const auto fits = static_cast<float>(std::max(0.0, worker.pace->updates_within(left_s)));
      next = first_from(std::max(line(plan) + 1, line(entry.troubles(), fits)));
      ++looks;
      continue;
    }
    if (entry.avoid == id && !takes_back) {
      ++looks;
      continue;
    }
    if (worker.shares_process && entry.troubles() > 0 && held > 0)
      return;  // so are all that follow
    hold(worker, plan);
    chosen.push_back(plan);
  }
}

/// Each of its holders is one that it may cost, if it is what kills workers.
bool PlanQueue::is_copyable(Plan plan) const {
  const Entry& entry = plans_[plan];
  return entry.state == State::held && entry.failures == 0 && entry.holders < most_holders &&
         entry.holders + entry.losses < max_attempts_;
}

/// Those that are late go first, as their holder may be sick, then those that will take longest.
/// The order of many is much the same a moment later.
void PlanQueue::list_copyable() {
  constexpr double s_per_lease = 1e-5;
  constexpr double late = 1e9;
  if (now_s_ - copyable_s_ < s_per_lease * static_cast<double>(leases_)) return;
  copyable_s_ = now_s_;
  copyable_.clear();
  for (const Worker& worker : workers_) {
    if (worker.silent) continue;
    for (const Lease& lease : worker.leases) {
      const double left_s = static_cast<double>(lease.end_s) - now_s_;
      if (is_copyable(lease.plan))
        copyable_.emplace_back(left_s < 0 ? late - left_s : left_s, lease.plan);
    }
  }
  std::sort(copyable_.begin(), copyable_.end());
}

void PlanQueue::give_copies(Worker& worker, double time_left_s, std::vector<Plan>& chosen) {
  list_copyable();
  while (!copyable_.empty() && !is_copyable(copyable_.back().second)) copyable_.pop_back();
  int looks = 0;
  for (auto each = copyable_.rbegin(); each != copyable_.rend() && looks < most_looks; ++each) {
    if (worker.leases.size() >= worker.lanes) return;
    ++looks;
    const auto [left_s, plan] = *each;
    if (!is_copyable(plan) || worker.holds(plan)) continue;
    if (worker.shares_process && plans_[plan].troubles() > 0) continue;
    // One copy costs nothing and may save much; another only if it should be done well before.
    const double here_s = caution * worker.pace->seconds_for(plans_[plan].updates);
    if (here_s > time_left_s || (plans_[plan].holders > 1 && here_s >= left_s / 2)) continue;
    hold(worker, plan);
    chosen.push_back(plan);
  }
}

double PlanQueue::predicted_s(int id, Plan plan) const {
  const Worker* const worker = find(id);
  if (worker == nullptr || !has(plan) || plans_[plan].updates <= 0) return nan;
  return worker->pace->seconds_for(plans_[plan].updates);
}

/// What was predicted for the work of one kind of device, and what it took.
struct PlanQueue::Forecast {
  Pace::Totals totals;
  double lanes = 0;
  double rate = 0;  ///< plans a second, as far as its workers have solved some
  [[nodiscard]] double plans_a_second(double plan_s) const {
    const double held_up = totals.predicted_s > 0 ? totals.seconds / totals.predicted_s : 1;
    return plan_s > 0 ? lanes / (plan_s * held_up) : rate;
  }
};

double PlanQueue::seconds_left() const {
  const double mean = known_ > 0 ? updates_ / static_cast<double>(known_) : nan;
  std::map<const Pace*, Forecast> forecasts;
  for (const auto& [kind, pace] : paces_) forecasts[&pace].totals = pace.latest();
  double done = 0;  // of the running plans, in plans of mean work
  double longest_s = 0;
  // If there are more, enough plans have just ended to tell as much, and to look at all takes long.
  constexpr std::size_t most_looked_at = 10'000;
  for (const Worker& worker : workers_) {
    if (worker.lanes == 0 || worker.silent) continue;
    Forecast& forecast = forecasts[worker.pace];
    forecast.lanes += worker.lanes;
    if (worker.mean_s > 0) forecast.rate += worker.lanes / worker.mean_s;
    if (leases_ > most_looked_at) continue;
    // Plans at hand count, too, as they may be held up for longer than any that has ended.
    for (const Lease& lease : worker.leases) {
      const Entry& entry = plans_[lease.plan];
      const double predicted_s = worker.pace->seconds_for(entry.updates);
      if (!lease.has_started() || entry.is_finished() || entry.updates <= 0 || !(predicted_s > 0))
        continue;
      const double elapsed_s = now_s_ - static_cast<double>(lease.started_s);
      const double covered_s = std::min(elapsed_s, predicted_s);
      forecast.totals.seconds += elapsed_s;
      forecast.totals.predicted_s += covered_s;
      done += covered_s / predicted_s * entry.updates / mean / entry.holders;
      if (entry.holders == 1) longest_s = std::max(longest_s, predicted_s - covered_s);
    }
  }
  double rate = 0;
  for (const auto& [pace, forecast] : forecasts)
    rate += forecast.plans_a_second(pace->seconds_for(mean));
  if (!(rate > 0)) return nan;
  return std::max((static_cast<double>(unfinished_) - done) / rate, longest_s);
}

}  // namespace wallheat
