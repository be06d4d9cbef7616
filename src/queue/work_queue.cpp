#include "queue/work_queue.hpp"

#include <algorithm>
#include <cmath>

namespace wallheat {
namespace {

// Plans waiting at a worker should last this long: far more than a message takes, so that small
// plans travel in batches and rank 0 is asked some ten times a second per worker, not per plan.
constexpr double prefetch_s = 0.1;
constexpr std::size_t most_waiting = 1024;
// Nine of ten predictions of floor plans' times are within this factor.
constexpr double caution = 1.3;
// A plan is copied once, and once more for a worker that is much quicker.
constexpr std::size_t most_holders = 3;

}  // namespace

std::size_t WorkQueue::Worker::prefetch() const {
  if (mean_s <= 0) return threads;
  const double wanted = static_cast<double>(threads) * prefetch_s / mean_s;
  if (wanted >= static_cast<double>(most_waiting)) return most_waiting;
  return std::max(threads, static_cast<std::size_t>(wanted));
}

WorkQueue::Key WorkQueue::key(std::uint32_t number, const Plan& plan) {
  return {plan.failures + plan.lost_workers, -plan.updates, plan.position, number};
}

WorkQueue::WorkQueue(const std::vector<Item>& plans, QueueRules rules)
    : rules_(rules), unfinished_(plans.size()) {
  std::uint32_t position = 0;
  for (const Item& item : plans) {
    Plan& plan = plans_[item.plan];
    plan.position = position++;
    plan.failures = item.failures;
    add_pending(item.plan, plan);
  }
}

void WorkQueue::worker_joined(int worker, std::size_t threads, const std::string& kind) {
  Worker& joined = workers_[worker];
  joined.threads = std::max<std::size_t>(1, threads);
  joined.cost = &costs_[kind];
  joined.leaving = false;
}

void WorkQueue::worker_leaving(int worker) {
  if (const auto known = workers_.find(worker); known != workers_.end())
    known->second.leaving = true;
}

void WorkQueue::worker_left(int worker) {
  const auto known = workers_.find(worker);
  if (known == workers_.end()) return;
  for (const auto& [number, lease] : known->second.leases) {
    Plan& plan = plans_[number];
    forget_lease(plan, worker);
    if (plan.state == State::leased && plan.holders.empty()) add_pending(number, plan);
  }
  workers_.erase(known);
}

std::vector<std::uint32_t> WorkQueue::worker_lost(int worker) {
  std::vector<std::uint32_t> given_up;
  const auto known = workers_.find(worker);
  if (known == workers_.end()) return given_up;
  for (const auto& [number, lease] : known->second.leases) {
    Plan& plan = plans_[number];
    forget_lease(plan, worker);
    if (plan.state != State::leased) continue;
    if (lease.running) ++plan.lost_workers;
    if (!plan.holders.empty()) continue;
    if (plan.lost_workers >= rules_.max_attempts) {
      finish(number, plan, State::failed);
      given_up.push_back(number);
    } else {
      add_pending(number, plan);
    }
  }
  workers_.erase(known);
  return given_up;
}

void WorkQueue::worker_heard(int worker) {
  if (const auto known = workers_.find(worker); known != workers_.end()) known->second.silent_s = 0;
}

std::vector<int> WorkQueue::time_passed(double seconds) {
  clock_s_ += seconds;
  std::vector<int> silent;
  for (auto& [id, worker] : workers_) {
    worker.silent_s += seconds;
    if (worker.silent_s > rules_.worker_timeout_s) silent.push_back(id);
  }
  return silent;
}

bool WorkQueue::plan_started(int worker, std::uint32_t number) {
  const auto found = plans_.find(number);
  if (found == plans_.end()) return true;
  const Plan& plan = found->second;
  if (const auto known = workers_.find(worker); known != workers_.end()) {
    const auto lease = known->second.leases.find(number);
    if (lease != known->second.leases.end() && !lease->second.running) {
      lease->second = {true, clock_s_};
      ++known->second.running;
    }
  }
  return !plan.finished() &&
         std::none_of(plan.holders.begin(), plan.holders.end(), [&](int holder) {
           return holder != worker && workers_.at(holder).leases.at(number).running;
         });
}

double WorkQueue::predicted_s(int worker, std::uint32_t number) const {
  const auto known = workers_.find(worker);
  const auto plan = plans_.find(number);
  if (known == workers_.end() || plan == plans_.end() || !(plan->second.updates > 0))
    return std::numeric_limits<double>::quiet_NaN();
  return known->second.cost->predict_s(plan->second.updates);
}

WorkQueue::Answer WorkQueue::plan_finished(int worker, std::uint32_t number, double seconds) {
  const auto found = plans_.find(number);
  if (found == plans_.end()) return Answer::unknown;
  Plan& plan = found->second;
  release(number, plan, worker);
  const auto known = workers_.find(worker);
  if (known != workers_.end()) {
    double& mean = known->second.mean_s;
    constexpr double weight = 0.2;
    mean = mean > 0 ? mean + weight * (seconds - mean) : seconds;
  }
  if (plan.state == State::answered) return Answer::repeated;
  if (known != workers_.end() && plan.updates > 0)
    known->second.cost->observe(plan.updates, seconds);
  if (plan.state == State::failed) {
    plan.state = State::answered;  // late, but as good as any
  } else {
    finish(number, plan, State::answered);
  }
  return Answer::first;
}

WorkQueue::Failure WorkQueue::plan_failed(int worker, std::uint32_t number, bool may_pass) {
  const auto found = plans_.find(number);
  if (found == plans_.end()) return Failure::of_a_copy;
  Plan& plan = found->second;
  release(number, plan, worker);
  if (plan.finished()) return Failure::of_a_copy;
  remove_pending(number, plan);  // where it is pending it gets another place
  ++plan.failures;
  plan.failed_at = worker;
  if (!plan.holders.empty()) return Failure::to_be_tried_again;  // somebody is at it
  if (may_pass && plan.failures < rules_.max_attempts) {
    add_pending(number, plan);
    return Failure::to_be_tried_again;
  }
  finish(number, plan, State::failed);
  return Failure::final;
}

void WorkQueue::plans_returned(int worker, const std::vector<std::uint32_t>& plans) {
  if (const auto known = workers_.find(worker); known != workers_.end()) {
    known->second.retracting = false;
  }
  for (const std::uint32_t number : plans) {
    const auto found = plans_.find(number);
    if (found == plans_.end()) continue;
    Plan& plan = found->second;
    release(number, plan, worker);
    if (plan.state == State::leased && plan.holders.empty()) add_pending(number, plan);
  }
}

void WorkQueue::set_work(std::uint32_t number, double updates) {
  const auto found = plans_.find(number);
  if (found == plans_.end() || found->second.finished() || !(updates > 0)) return;
  Plan& plan = found->second;
  const bool pending = plan.state == State::pending;
  remove_pending(number, plan);
  known_plans_ += plan.updates > 0 ? 0 : 1;
  known_updates_ += updates - plan.updates;
  plan.updates = updates;
  if (pending) add_pending(number, plan);
}

bool WorkQueue::any_busy() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& each) {
    return each.second.load() > 0 || each.second.retracting || each.second.leaving;
  });
}

bool WorkQueue::is_late_copy(std::uint32_t plan) const {
  const auto found = plans_.find(plan);
  return found != plans_.end() && found->second.late_copies > 0;
}

std::int32_t WorkQueue::failures(std::uint32_t plan) const {
  const auto found = plans_.find(plan);
  return found == plans_.end() ? 0 : found->second.failures;
}

/// NaN where nothing is known.
double WorkQueue::expected_s(const Plan& plan, const Worker& worker) {
  return plan.updates > 0 ? worker.cost->predict_s(plan.updates)
                          : std::numeric_limits<double>::quiet_NaN();
}

/// How long a running plan will still take there. One that takes longer than was expected may be on
/// a sick machine: it may take as long again.
double WorkQueue::left_s(const Plan& plan, const Worker& worker, const Lease& lease) const {
  const double elapsed = clock_s_ - lease.started_s;
  const double left = expected_s(plan, worker) - elapsed;
  return left > 0 ? left : elapsed;
}

std::vector<int> WorkQueue::fastest_first() const {
  std::vector<int> ids;
  for (const auto& [id, worker] : workers_) ids.push_back(id);
  const auto mean_s = [&](int id) {
    const double mean = workers_.at(id).mean_s;
    return mean > 0 ? mean : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return mean_s(a) < mean_s(b); });
  return ids;
}

/// About how long a plan would wait at this worker before a thread takes it.
double WorkQueue::start_delay_s(const Worker& worker) {
  return worker.idle() > 0 ? 0
                           : worker.mean_s * static_cast<double>(worker.waiting() + 1) /
                                 static_cast<double>(worker.threads);
}

std::vector<Order> WorkQueue::orders(double time_left_s) {
  std::vector<Order> orders;
  std::map<int, std::size_t> grants;
  // Fast workers get the longest plans.
  const std::vector<int> ids = fastest_first();
  std::size_t left = pending_count_;
  std::size_t all_prefetch = 0;
  for (const int id : ids) {
    const Worker& worker = workers_[id];
    all_prefetch += worker.prefetch();
    grants[id] = std::min(worker.idle(), left);
    left -= grants[id];
  }
  // What is left over waits at the workers; each gets at most half of its fair share, so that the
  // batches shrink towards the end.
  const std::size_t to_share = left;
  for (const int id : ids) {
    const Worker& worker = workers_[id];
    if (worker.leaving) continue;
    // Where time is short and nothing can be foretold, nothing waits: what waits will be started.
    if (std::isfinite(time_left_s) && !std::isfinite(worker.cost->predict_s(1))) continue;
    const std::size_t waiting = worker.load() + grants[id] > worker.threads
                                    ? worker.load() + grants[id] - worker.threads
                                    : 0;
    if (waiting > worker.prefetch() / 2) continue;
    const std::size_t fair = to_share * worker.prefetch() / (2 * all_prefetch);
    const std::size_t more =
        std::min({left, worker.prefetch() - waiting, std::max<std::size_t>(1, fair)});
    grants[id] += more;
    left -= more;
  }
  const bool is_alone = workers_.size() == 1 && !more_are_expected_;
  const Takes takes = is_alone ? Takes::any_plan : Takes::what_failed_elsewhere;
  for (const int id : ids) assign(id, grants[id], takes, time_left_s, orders);
  // Some plans were not for the worker that they were granted to: anyone idle may have them.
  for (const int id : ids) assign(id, workers_[id].idle(), takes, time_left_s, orders);
  // Nobody else has time enough for what is left.
  if (orders.empty() && !any_busy() && !more_are_expected_) {
    for (const int id : ids) assign(id, workers_[id].idle(), Takes::any_plan, time_left_s, orders);
  }
  if (orders.empty()) retract_for_the_idle(orders);
  if (orders.empty()) copy_for_the_idle(orders, time_left_s);
  return orders;
}

void WorkQueue::assign(int worker, std::size_t count, Takes takes, double time_left_s,
                       std::vector<Order>& orders) {
  if (count == 0 || pending_count_ == 0 || time_left_s <= 0) return;
  Order order{Order::Kind::assign, worker, {}, 0};
  for (auto& [failed_at, pending] : pending_) {
    if (takes == Takes::any_plan || failed_at != worker)
      assign_from(pending, worker, count, time_left_s, order);
  }
  if (!order.plans.empty()) orders.push_back(std::move(order));
}

void WorkQueue::assign_from(std::set<Key>& pending, int id, std::size_t count, double time_left_s,
                            Order& order) {
  const Worker& worker = workers_[id];
  for (auto next = pending.begin(); next != pending.end() && order.plans.size() < count;) {
    const std::uint32_t number = std::get<3>(*next);
    const double left_s = time_left_s - start_delay_s(worker);
    // False where nothing is known: NaN.
    if (caution * expected_s(plans_[number], worker) > left_s) {
      // So are all that are longer: the next to look at is the longest that fits. Plans of unknown
      // length come last.
      const double fits = std::max(0.0, worker.cost->updates_within(left_s / caution));
      const Key longest{std::get<0>(*next), -fits, 0, 0};
      next = longest > *next ? pending.lower_bound(longest) : std::next(next);
      continue;
    }
    ++next;  // before its key is gone
    lease(number, id, order);
  }
}

void WorkQueue::lease(std::uint32_t number, int worker, Order& order) {
  Plan& plan = plans_[number];
  remove_pending(number, plan);
  plan.state = State::leased;
  plan.holders.push_back(worker);
  leased_.insert(number);
  workers_[worker].leases[number] = {};
  order.plans.push_back(number);
}

void WorkQueue::retract_for_the_idle(std::vector<Order>& orders) {
  std::size_t idle = 0;
  for (const auto& [id, worker] : workers_) {
    idle += worker.idle();
    if (worker.retracting) return;  // its answer may be enough
  }
  const auto to_spare = [](const Worker& worker) {
    return worker.retracting || worker.leaving || worker.load() <= worker.threads
               ? 0
               : std::min(worker.waiting(), worker.load() - worker.threads);
  };
  while (idle > 0) {
    const auto busiest = std::max_element(
        workers_.begin(), workers_.end(),
        [&](const auto& a, const auto& b) { return to_spare(a.second) < to_spare(b.second); });
    const std::size_t count = std::min(idle, to_spare(busiest->second));
    if (count == 0) return;
    orders.push_back({Order::Kind::retract, busiest->first, {}, count});
    busiest->second.retracting = true;
    idle -= count;
  }
}

void WorkQueue::copy_for_the_idle(std::vector<Order>& orders, double time_left_s) {
  const auto any = [&](auto property) {
    return std::any_of(workers_.begin(), workers_.end(),
                       [&](const auto& each) { return property(each.second); });
  };
  if (!any([](const Worker& worker) { return worker.idle() > 0; })) return;
  // What is on its way back must not be copied.
  if (any([](const Worker& worker) { return worker.retracting || worker.waiting() > 0; })) return;
  if (workers_.size() < 2 || time_left_s <= 0) return;
  // What will take longest from now is copied first.
  std::vector<std::pair<double, std::uint32_t>> candidates;
  for (const std::uint32_t number : leased_) {
    const Plan& plan = plans_[number];
    if (plan.holders.size() >= most_holders) continue;
    double left = std::numeric_limits<double>::infinity();
    for (const int holder : plan.holders) {
      const Worker& worker = workers_.at(holder);
      if (!worker.leaving) left = std::min(left, left_s(plan, worker, worker.leases.at(number)));
    }
    candidates.emplace_back(left, number);
  }
  std::sort(candidates.rbegin(), candidates.rend());
  for (const int id : fastest_first()) {
    Worker& worker = workers_[id];
    Order order{Order::Kind::assign, id, {}, 0};
    for (auto& [left, number] : candidates) {
      if (worker.idle() == 0) break;
      const Plan& plan = plans_[number];
      const bool has_it = worker.leases.contains(number);
      const double expected = caution * expected_s(plan, worker);
      if (has_it || plan.failed_at == id || expected > time_left_s) continue;
      // One copy costs nothing and may save much. Another only where it should be done well before:
      // plans that slow workers copied from each other must not be kept from a fast one.
      const bool quicker = plan.holders.size() < most_holders && 2 * expected < left;
      if (plan.holders.size() > 1 && !quicker) continue;
      lease(number, id, order);
      left = std::min(left, expected);  // NaN changes nothing
    }
    if (!order.plans.empty()) orders.push_back(std::move(order));
  }
}

double WorkQueue::seconds_left() const {
  const double mean_updates =
      known_plans_ > 0 ? known_updates_ / static_cast<double>(known_plans_) : 0;
  double rate = 0;
  for (const auto& [id, worker] : workers_) {
    const double foreseen_s = mean_updates > 0 ? worker.cost->predict_s(mean_updates)
                                               : std::numeric_limits<double>::quiet_NaN();
    const double mean_s = std::isfinite(foreseen_s) ? foreseen_s : worker.mean_s;
    if (mean_s > 0) rate += static_cast<double>(worker.threads) / mean_s;
  }
  return rate > 0 ? static_cast<double>(unfinished_) / rate
                  : std::numeric_limits<double>::quiet_NaN();
}

PredictionQuality WorkQueue::prediction_quality() const {
  std::vector<double> ratios;
  for (const auto& [kind, cost] : costs_)
    ratios.insert(ratios.end(), cost.ratios().begin(), cost.ratios().end());
  return judge_predictions(std::move(ratios));
}

void WorkQueue::add_pending(std::uint32_t number, Plan& plan) {
  leased_.erase(number);
  plan.state = State::pending;
  pending_[plan.failed_at].insert(key(number, plan));
  ++pending_count_;
}

/// Does nothing where it is not pending. The caller gives it another state, or adds it again.
void WorkQueue::remove_pending(std::uint32_t number, const Plan& plan) {
  if (plan.state != State::pending) return;
  const auto pending = pending_.find(plan.failed_at);
  pending_count_ -= pending->second.erase(key(number, plan));
}

/// On the plan's side; on the worker's it is still there.
void WorkQueue::forget_lease(Plan& plan, int worker) {
  if (plan.finished()) {
    --plan.late_copies;
  } else {
    std::erase(plan.holders, worker);
  }
}

/// The worker does not have the plan any more, if it had.
void WorkQueue::release(std::uint32_t number, Plan& plan, int worker) {
  const auto known = workers_.find(worker);
  if (known == workers_.end()) return;
  const auto lease = known->second.leases.find(number);
  if (lease == known->second.leases.end()) return;
  if (lease->second.running) --known->second.running;
  known->second.leases.erase(lease);
  forget_lease(plan, worker);
}

/// Copies that others still solve stay with them: their threads are busy until they answer.
void WorkQueue::finish(std::uint32_t number, Plan& plan, State state) {
  remove_pending(number, plan);
  leased_.erase(number);
  plan.state = state;
  plan.late_copies = static_cast<std::int32_t>(plan.holders.size());
  plan.holders.clear();
  --unfinished_;
  if (plan.updates <= 0) return;
  known_updates_ -= plan.updates;
  --known_plans_;
}

}  // namespace wallheat
