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
    pending_.insert(key(item.plan, plan));
  }
}

void WorkQueue::worker_joined(int worker, std::size_t threads, const std::string& kind) {
  workers_[worker].threads = std::max<std::size_t>(1, threads);
  workers_[worker].cost = &costs_[kind];
}

void WorkQueue::worker_left(int worker) {
  for (const std::uint32_t number : held_by(worker)) {
    Plan& plan = plans_[number];
    release(number, plan, worker);
    if (plan.holders.empty()) put_back(number, plan);
  }
  workers_.erase(worker);
}

std::vector<std::uint32_t> WorkQueue::worker_lost(int worker) {
  std::vector<std::uint32_t> given_up;
  for (const std::uint32_t number : held_by(worker)) {
    Plan& plan = plans_[number];
    const auto holder = std::find_if(plan.holders.begin(), plan.holders.end(),
                                     [&](const Holder& each) { return each.worker == worker; });
    if (holder->running) ++plan.lost_workers;
    release(number, plan, worker);
    if (!plan.holders.empty()) continue;
    if (plan.lost_workers >= rules_.max_attempts) {
      finish(number, plan);
      given_up.push_back(number);
    } else {
      put_back(number, plan);
    }
  }
  workers_.erase(worker);
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

bool WorkQueue::plan_started(int worker, std::uint32_t plan) {
  const auto found = plans_.find(plan);
  if (found == plans_.end()) return true;
  bool first = true;
  for (Holder& holder : found->second.holders) {
    first = first && (holder.worker == worker || !holder.running);
    if (holder.worker != worker || holder.running) continue;
    holder.running = true;
    holder.started_s = clock_s_;
    --workers_[worker].waiting;
    ++workers_[worker].running;
  }
  return first;
}

WorkQueue::Answer WorkQueue::plan_finished(int worker, std::uint32_t plan, double seconds) {
  const auto found = plans_.find(plan);
  if (found == plans_.end()) return Answer::unknown;
  release(plan, found->second, worker);
  const auto known = workers_.find(worker);
  if (known != workers_.end()) {
    double& mean = known->second.mean_s;
    constexpr double weight = 0.2;
    mean = mean > 0 ? mean + weight * (seconds - mean) : seconds;
  }
  if (found->second.state == State::finished) return Answer::repeated;
  if (known != workers_.end() && found->second.updates > 0)
    known->second.cost->observe(found->second.updates, seconds);
  finish(plan, found->second);
  return Answer::first;
}

WorkQueue::Failure WorkQueue::plan_failed(int worker, std::uint32_t plan, bool may_pass) {
  const auto found = plans_.find(plan);
  if (found == plans_.end() || found->second.state == State::finished) {
    if (found != plans_.end()) release(plan, found->second, worker);
    return Failure::of_a_copy;
  }
  Plan& failed = found->second;
  if (failed.state == State::pending) pending_.erase(key(plan, failed));
  ++failed.failures;
  failed.failed_at = worker;
  release(plan, failed, worker);
  if (!failed.holders.empty()) return Failure::to_be_tried_again;  // somebody is at it
  if (may_pass && failed.failures < rules_.max_attempts) {
    failed.state = State::pending;
    pending_.insert(key(plan, failed));
    return Failure::to_be_tried_again;
  }
  failed.state = State::leased;  // out of pending_, whatever it was
  finish(plan, failed);
  return Failure::final;
}

void WorkQueue::plans_returned(int worker, const std::vector<std::uint32_t>& plans) {
  if (const auto known = workers_.find(worker); known != workers_.end()) {
    known->second.recalling = false;
  }
  for (const std::uint32_t number : plans) {
    const auto found = plans_.find(number);
    if (found == plans_.end()) continue;
    Plan& plan = found->second;
    const std::size_t holders = plan.holders.size();
    release(number, plan, worker);
    if (plan.state == State::leased && plan.holders.size() < holders && plan.holders.empty())
      put_back(number, plan);
  }
}

void WorkQueue::set_work(std::uint32_t number, double updates) {
  const auto found = plans_.find(number);
  if (found == plans_.end() || found->second.state == State::finished || !(updates > 0)) return;
  Plan& plan = found->second;
  const bool pending = plan.state == State::pending;
  if (pending) pending_.erase(key(number, plan));
  known_plans_ += plan.updates > 0 ? 0 : 1;
  known_updates_ += updates - plan.updates;
  plan.updates = updates;
  if (pending) pending_.insert(key(number, plan));
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
double WorkQueue::left_s(const Plan& plan, const Holder& holder) const {
  const double elapsed = clock_s_ - holder.started_s;
  const double left = expected_s(plan, workers_.at(holder.worker)) - elapsed;
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
double WorkQueue::start_delay_s(const Worker& worker) const {
  return worker.idle() > 0 ? 0
                           : worker.mean_s * static_cast<double>(worker.waiting + 1) /
                                 static_cast<double>(worker.threads);
}

std::vector<Order> WorkQueue::orders(double time_left_s) {
  std::vector<Order> orders;
  std::map<int, std::size_t> grants;
  // Whoever is fast gets the longest plans.
  const std::vector<int> ids = fastest_first();
  std::size_t left = pending_.size();
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
  for (const int id : ids) assign(id, grants[id], time_left_s, orders);
  // A plan may be kept from a worker where it failed: anyone idle may have it.
  for (const int id : ids) assign(id, workers_[id].idle(), time_left_s, orders);
  if (orders.empty()) recall_for_the_idle(orders);
  if (orders.empty()) copy_for_the_idle(orders, time_left_s);
  return orders;
}

void WorkQueue::assign(int worker, std::size_t count, double time_left_s,
                       std::vector<Order>& orders) {
  Order order{Order::Kind::assign, worker, {}, 0};
  for (auto next = pending_.begin(); next != pending_.end() && order.plans.size() < count;) {
    const std::uint32_t number = std::get<3>(*next);
    const Plan& plan = plans_[number];
    const bool elsewhere = plan.failed_at == worker && workers_.size() > 1;
    // False where nothing is known: NaN.
    const bool too_long =
        start_delay_s(workers_[worker]) + caution * expected_s(plan, workers_[worker]) >
        time_left_s;
    if (elsewhere || too_long || time_left_s <= 0) {
      ++next;
      continue;
    }
    next = pending_.erase(next);
    lease(number, worker, order);
  }
  if (!order.plans.empty()) orders.push_back(std::move(order));
}

void WorkQueue::lease(std::uint32_t number, int worker, Order& order) {
  Plan& plan = plans_[number];
  plan.state = State::leased;
  plan.holders.push_back({worker, false, 0});
  held_.insert(number);
  ++workers_[worker].waiting;
  order.plans.push_back(number);
}

void WorkQueue::recall_for_the_idle(std::vector<Order>& orders) {
  std::size_t idle = 0;
  for (const auto& [id, worker] : workers_) {
    idle += worker.idle();
    if (worker.recalling) return;  // its answer may be enough
  }
  while (idle > 0) {
    const auto busiest =
        std::max_element(workers_.begin(), workers_.end(), [](const auto& a, const auto& b) {
          const auto waiting = [](const Worker& worker) {
            return worker.recalling || worker.load() <= worker.threads
                       ? 0
                       : worker.load() - worker.threads;
          };
          return waiting(a.second) < waiting(b.second);
        });
    Worker& worker = busiest->second;
    if (worker.recalling || worker.load() <= worker.threads || worker.waiting == 0) return;
    const std::size_t count = std::min({idle, worker.waiting, worker.load() - worker.threads});
    orders.push_back({Order::Kind::recall, busiest->first, {}, count});
    worker.recalling = true;
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
  if (any([](const Worker& worker) { return worker.recalling || worker.waiting > 0; })) return;
  if (workers_.size() < 2 || time_left_s <= 0) return;
  // What will take longest from now is copied first.
  std::vector<std::pair<double, std::uint32_t>> candidates;
  for (const std::uint32_t number : held_) {
    const Plan& plan = plans_[number];
    if (plan.state != State::leased || plan.holders.size() >= most_holders) continue;
    double left = std::numeric_limits<double>::infinity();
    for (const Holder& holder : plan.holders) left = std::min(left, left_s(plan, holder));
    candidates.emplace_back(left, number);
  }
  std::sort(candidates.rbegin(), candidates.rend());
  for (const int id : fastest_first()) {
    Worker& worker = workers_[id];
    Order order{Order::Kind::assign, id, {}, 0};
    for (auto& [left, number] : candidates) {
      if (worker.idle() == 0) break;
      const Plan& plan = plans_[number];
      const bool has_it = std::any_of(plan.holders.begin(), plan.holders.end(),
                                      [&](const Holder& holder) { return holder.worker == id; });
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

std::vector<std::uint32_t> WorkQueue::held_by(int worker) const {
  std::vector<std::uint32_t> held;
  for (const std::uint32_t number : held_) {
    const Plan& plan = plans_.at(number);
    if (std::any_of(plan.holders.begin(), plan.holders.end(),
                    [&](const Holder& each) { return each.worker == worker; }))
      held.push_back(number);
  }
  return held;
}

void WorkQueue::release(std::uint32_t number, Plan& plan, int worker) {
  for (auto holder = plan.holders.begin(); holder != plan.holders.end();) {
    if (holder->worker != worker) {
      ++holder;
      continue;
    }
    Worker& known = workers_[worker];
    --(holder->running ? known.running : known.waiting);
    holder = plan.holders.erase(holder);
  }
  if (plan.holders.empty()) held_.erase(number);
}

void WorkQueue::put_back(std::uint32_t number, Plan& plan) {
  if (plan.state != State::leased) return;
  plan.state = State::pending;
  pending_.insert(key(number, plan));
}

/// Copies that others are still at stay with them: their threads are busy until they answer.
void WorkQueue::finish(std::uint32_t number, Plan& plan) {
  if (plan.state == State::pending) pending_.erase(key(number, plan));
  plan.state = State::finished;
  --unfinished_;
  if (plan.updates <= 0) return;
  known_updates_ -= plan.updates;
  --known_plans_;
}

}  // namespace wallheat
