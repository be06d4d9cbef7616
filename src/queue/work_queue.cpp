#include "queue/work_queue.hpp"

#include <algorithm>
#include <cmath>

namespace wallheat {
namespace {

// Plans waiting at a worker should last this long: far more than a message takes, so that small
// plans travel in batches and rank 0 is asked some ten times a second per worker, not per plan.
constexpr double prefetch_s = 0.1;
constexpr std::size_t most_waiting = 1024;
// Plans that take longer do not wait at a worker: an answer's way there and back is a thousandth of
// their time, and a plan that waits behind another cannot go to whoever is free first. Nor do plans
// of which a worker has not solved one.
constexpr double long_plan_s = 5;
// Nine of ten predictions of floor plans' times are within this factor.
constexpr double caution = 1.3;
// A plan that failed waits so long for another worker while others are busy; then it is tried again
// where it failed.
constexpr double wait_for_others_s = 60;
// So many plans are looked at for a copy, and so many workers of a kind, when none fits: a copy is
// a gamble that must not cost much.
constexpr std::size_t most_looks = 64;
constexpr int most_fruitless = 3;  // one holds the plan, at another it failed
constexpr std::uint32_t not_here = std::numeric_limits<std::uint32_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::size_t WorkQueue::Worker::prefetch() const {
  if (mean_s <= 0 || mean_s > long_plan_s) return 0;
  const double wanted = static_cast<double>(threads) * prefetch_s / mean_s;
  if (wanted >= static_cast<double>(most_waiting)) return most_waiting;
  return std::max(threads, static_cast<std::size_t>(wanted));
}

std::size_t WorkQueue::Worker::room(std::size_t count) const {
  if (leaving) return 0;
  const std::size_t all = load() + count;
  const std::size_t would_wait = all > threads ? all - threads : 0;
  return would_wait > prefetch() / 2 ? 0 : prefetch() - would_wait;
}

std::size_t WorkQueue::Worker::spare() const {
  return retracting || leaving || load() <= threads ? 0 : std::min(waiting(), load() - threads);
}

WorkQueue::WorkQueue(const std::vector<Item>& plans, int max_attempts)
    : max_attempts_(max_attempts), plans_(plans.size()), unfinished_(plans.size()) {
  std::uint32_t largest = 0;
  for (const Item& item : plans) largest = std::max(largest, item.plan);
  position_of_.assign(plans.empty() ? 0 : std::size_t{largest} + 1, not_here);
  numbers_.reserve(plans.size());
  for (const Item& item : plans) {
    position_of_[item.plan] = static_cast<std::uint32_t>(numbers_.size());
    Plan& plan = plans_[numbers_.size()];
    numbers_.push_back(item.plan);
    plan.failures = item.failures;
    add_pending(plan);
  }
}

std::optional<std::size_t> WorkQueue::position(std::uint32_t number) const {
  if (number >= position_of_.size() || position_of_[number] == not_here) return std::nullopt;
  return position_of_[number];
}

WorkQueue::Plan* WorkQueue::find(std::uint32_t number) {
  const auto place = position(number);
  return place ? &plans_[*place] : nullptr;
}

const WorkQueue::Plan* WorkQueue::find(std::uint32_t number) const {
  const auto place = position(number);
  return place ? &plans_[*place] : nullptr;
}

WorkQueue::Worker* WorkQueue::find_worker(int id) {
  const auto known = workers_.find(id);
  return known == workers_.end() ? nullptr : &known->second;
}

PendingPlans::Key WorkQueue::key(const Plan& plan) const {
  return {plan.failures + plan.lost_workers, static_cast<std::uint32_t>(&plan - plans_.data()),
          plan.updates};
}

void WorkQueue::worker_joined(int id, std::size_t threads, const std::string& kind) {
  const auto [known, is_new] = workers_.try_emplace(id);
  Worker& worker = known->second;
  if (!is_new) set_standing(id, worker, {});
  worker.threads = std::max<std::size_t>(1, threads);
  worker.kind = &kinds_[kind];
  if (std::exchange(worker.leaving, false)) --leaving_;
  for (const auto& [number, lease] : worker.leases) plan_changed(number);
  worker_changed(id, worker);
  wake_starved();
}

void WorkQueue::worker_leaving(int id) {
  Worker* const worker = find_worker(id);
  if (worker == nullptr || std::exchange(worker->leaving, true)) return;
  ++leaving_;
  for (const auto& [number, lease] : worker->leases) plan_changed(number);
  worker_changed(id, *worker);
}

void WorkQueue::worker_left(int id) {
  Worker* const worker = find_worker(id);
  if (worker == nullptr) return;
  for (const auto& [number, lease] : worker->leases) {
    Plan& plan = plan_of(number);
    forget_lease(number, plan, id, lease);
    if (plan.state == State::leased && plan.holders == 0) add_pending(plan);
  }
  drop(id, *worker);
}

std::vector<std::uint32_t> WorkQueue::worker_lost(int id) {
  std::vector<std::uint32_t> given_up;
  Worker* const worker = find_worker(id);
  if (worker == nullptr) return given_up;
  for (const auto& [number, lease] : worker->leases) {
    Plan& plan = plan_of(number);
    forget_lease(number, plan, id, lease);
    if (plan.state != State::leased) continue;
    if (lease.running) ++plan.lost_workers;
    if (plan.lost_workers >= max_attempts_) {  // whoever has a copy may still answer it
      finish(number, plan, State::failed);
      given_up.push_back(number);
    } else if (plan.holders == 0) {
      add_pending(plan);
    }
  }
  drop(id, *worker);
  return given_up;
}

/// Its plans are seen to.
void WorkQueue::drop(int id, Worker& worker) {
  set_standing(id, worker, {});
  leases_ -= worker.leases.size();
  retracting_ -= worker.retracting ? 1 : 0;
  leaving_ -= worker.leaving ? 1 : 0;
  workers_.erase(id);
  wake_starved();  // one may be alone now
}

bool WorkQueue::plan_started(int id, std::uint32_t number, double since_s) {
  Plan* const plan = find(number);
  if (plan == nullptr) return true;
  if (Worker* const worker = find_worker(id)) {
    const auto found = worker->leases.find(number);
    Lease& lease = found != worker->leases.end() ? found->second : hold(number, *plan, id, *worker);
    if (!std::exchange(lease.running, true)) {
      lease.started_s = clock_s_ - since_s;
      ++worker->running;
      plan_changed(number);
      worker_changed(id, *worker);
    }
  }
  bool is_first = !plan->finished();
  for_each_holder(number, *plan, [&](int holder, const Worker&, const Lease& lease) {
    if (holder != id && lease.running) is_first = false;
  });
  return is_first;
}

double WorkQueue::predicted_s(int worker, std::uint32_t number) const {
  const auto known = workers_.find(worker);
  const Plan* const plan = find(number);
  return known == workers_.end() || plan == nullptr ? nan : expected_s(*plan, known->second);
}

WorkQueue::Answer WorkQueue::plan_finished(int id, std::uint32_t number, double seconds) {
  Plan* const plan = find(number);
  if (plan == nullptr) return Answer::unknown;
  release(number, *plan, id);
  Worker* const worker = find_worker(id);
  if (worker != nullptr) {
    double& mean = worker->mean_s;
    constexpr double weight = 0.2;
    mean = mean > 0 ? mean + weight * (seconds - mean) : seconds;
    worker_changed(id, *worker);
  }
  if (plan->state == State::answered) return Answer::repeated;
  if (worker != nullptr && plan->updates > 0 && worker->kind->cost.observe(plan->updates, seconds))
    wake_starved();
  if (plan->state == State::failed) {
    plan->state = State::answered;  // late, but as good as any
  } else {
    finish(number, *plan, State::answered);
  }
  return Answer::first;
}

WorkQueue::Failure WorkQueue::plan_failed(int id, std::uint32_t number, bool may_pass) {
  Plan* const plan = find(number);
  if (plan == nullptr) return Failure::of_a_copy;
  release(number, *plan, id);
  if (plan->finished()) return Failure::of_a_copy;
  remove_pending(*plan);  // where it is pending it gets another place
  ++plan->failures;
  plan->failed_at = id;
  if (may_pass && plan->failures < max_attempts_) {
    if (plan->holders == 0) add_pending(*plan);  // somebody is at it otherwise
    return Failure::to_be_tried_again;
  }
  // Whoever has a copy may still answer it after all.
  plan->state = State::leased;  // not among the pending ones any more
  finish(number, *plan, State::failed);
  return Failure::final;
}

void WorkQueue::expect_more_workers(bool expected) {
  if (std::exchange(more_are_expected_, expected) != expected) wake_starved();
}

void WorkQueue::plans_returned(int id, const std::vector<std::uint32_t>& plans) {
  if (Worker* const worker = find_worker(id);
      worker != nullptr && std::exchange(worker->retracting, false)) {
    --retracting_;
    worker_changed(id, *worker);
  }
  for (const std::uint32_t number : plans) {
    Plan* const plan = find(number);
    if (plan == nullptr) continue;
    release(number, *plan, id);
    if (plan->state == State::leased && plan->holders == 0) add_pending(*plan);
  }
}

void WorkQueue::set_work(std::uint32_t number, double updates) {
  Plan* const plan = find(number);
  if (plan == nullptr || plan->finished() || !(updates > 0)) return;
  const bool pending = plan->state == State::pending;
  remove_pending(*plan);
  known_plans_ += plan->updates > 0 ? 0 : 1;
  known_updates_ += updates - plan->updates;
  plan->updates = updates;
  if (pending) add_pending(*plan);
  plan_changed(number);
}

bool WorkQueue::any_busy() const { return leases_ > 0 || retracting_ > 0 || leaving_ > 0; }

bool WorkQueue::is_late_copy(std::uint32_t number) const {
  const Plan* const plan = find(number);
  return plan != nullptr && plan->finished() && plan->holders > 0;
}

std::int32_t WorkQueue::failures(std::uint32_t number) const {
  const Plan* const plan = find(number);
  return plan == nullptr ? 0 : plan->failures;
}

/// NaN where nothing is known.
double WorkQueue::expected_s(const Plan& plan, const Worker& worker) {
  return plan.updates > 0 ? worker.kind->cost.predict_s(plan.updates) : nan;
}

/// How long a running plan will still take there. One that takes longer than was expected may be on
/// a sick machine: it may take as long again.
double WorkQueue::left_s(const Plan& plan, const Worker& worker, const Lease& lease) const {
  const double elapsed = clock_s_ - lease.started_s;
  const double left = expected_s(plan, worker) - elapsed;
  return left > 0 ? left : elapsed;
}

/// About how long a plan would wait at this worker before a thread takes it.
double WorkQueue::start_delay_s(const Worker& worker) {
  return worker.idle() > 0 ? 0
                           : worker.mean_s * static_cast<double>(worker.waiting() + 1) /
                                 static_cast<double>(worker.threads);
}

void WorkQueue::worker_changed(int id, Worker& worker) {
  worker.starved = false;
  if (std::exchange(worker.changed, true)) return;
  changed_workers_.push_back(id);
}

/// Something may be for those that got nothing before.
void WorkQueue::wake_starved() {
  for (const int id : starved_) {
    if (Worker* const worker = find_worker(id); worker != nullptr && worker->starved)
      worker_changed(id, *worker);
  }
  starved_.clear();
}

/// They have waited for others long enough.
void WorkQueue::wake_where_plans_failed() {
  for (; !failed_since_.empty() && clock_s_ - failed_since_.front().first > wait_for_others_s;
       failed_since_.pop_front()) {
    const int id = failed_since_.front().second;
    if (Worker* const worker = find_worker(id); worker != nullptr && pending_.contains(id))
      worker_changed(id, *worker);
  }
}

void WorkQueue::settle_workers() {
  for (const int id : changed_workers_) {
    Worker* const worker = find_worker(id);
    if (worker == nullptr || !std::exchange(worker->changed, false)) continue;
    const std::size_t idle = worker->idle();
    double speed = worker->mean_s;
    if (speed <= 0) speed = infinity;
    set_standing(id, *worker,
                 {speed, worker->prefetch(), idle, tail_ ? worker->spare() : 0,
                  !worker->starved && (idle > 0 || worker->room(0) > 0), worker->starved ? idle : 0,
                  worker->threads, static_cast<double>(worker->threads) / speed});
  }
  changed_workers_.clear();
}

void WorkQueue::set_standing(int id, Worker& worker, const Standing& next) {
  Standing& last = worker.standing;
  const Speed old_speed{last.speed, id};
  const Speed speed{next.speed, id};
  const bool moves = old_speed != speed;
  const auto enter = [&](std::set<Speed>& set, bool was, bool is) {
    if (was && (moves || !is)) set.erase(old_speed);
    if (is && (moves || !was)) set.insert(speed);
  };
  enter(idle_, last.idle > 0, next.idle > 0);
  enter(hungry_, last.hungry, next.hungry);
  if (last.spare != next.spare) {
    if (last.spare > 0) spare_.erase({last.spare, -id});
    if (next.spare > 0) spare_.insert({next.spare, -id});
  }
  all_prefetch_ += next.prefetch - last.prefetch;
  idle_threads_ += next.idle - last.idle;
  idle_in_vain_ += next.idle_in_vain - last.idle_in_vain;
  if (worker.kind != nullptr) {
    Kind& kind = *worker.kind;
    kind.threads += next.threads - last.threads;
    kind.rate = kind.threads > 0 ? kind.rate + next.rate - last.rate : 0;
  }
  last = next;
}

std::vector<Order> WorkQueue::orders(double time_left_s) {
  std::vector<Order> orders;
  if (time_left_s > last_time_left_s_) wake_starved();
  last_time_left_s_ = time_left_s;
  wake_where_plans_failed();
  settle_workers();
  while (pending_count_ > 0 && !feed(time_left_s, orders)) settle_workers();
  // Nobody else has time enough for what is left.
  if (orders.empty() && pending_count_ > 0 && !any_busy() && !more_are_expected_) {
    for (const auto& [speed, id] : idle_) {
      Worker& worker = workers_.at(id);
      assign(id, worker, worker.idle(), Takes::any_plan, time_left_s, orders);
    }
  }
  if (!orders.empty() || idle_threads_ == 0) return orders;
  if (!tail_) begin_tail();
  settle_workers();
  retract_for_the_idle(orders);
  if (orders.empty()) copy_for_the_idle(orders, time_left_s);
  return orders;
}

/// Hands out pending plans to those that would take some. Fast workers get the longest plans.
/// Returns false where some were not asked, as the plans seemed to be enough for others alone.
bool WorkQueue::feed(double time_left_s, std::vector<Order>& orders) {
  struct Grant {
    int id;
    Worker* worker;
    std::size_t count;
  };
  std::vector<Grant> grants;
  std::size_t left = pending_count_;
  for (const auto& [speed, id] : hungry_) {
    if (left == 0) break;
    Worker& worker = workers_.at(id);
    grants.push_back({id, &worker, std::min(worker.idle(), left)});
    left -= grants.back().count;
  }
  // What is left over waits at the workers; each gets at most half of its fair share, so that the
  // batches shrink towards the end.
  const std::size_t to_share = left;
  std::size_t asked = 0;
  for (auto& [id, worker, count] : grants) {
    if (left == 0) break;
    ++asked;
    // Where time is short and nothing can be foretold, nothing waits: what waits will be started.
    if (std::isfinite(time_left_s) && !std::isfinite(worker->kind->cost.predict_s(1))) continue;
    const std::size_t room = worker->room(count);
    if (room == 0) continue;
    const std::size_t fair = to_share * worker->prefetch() / (2 * all_prefetch_);
    const std::size_t more = std::min({left, room, std::max<std::size_t>(1, fair)});
    count += more;
    left -= more;
  }
  const bool is_alone = workers_.size() == 1 && !more_are_expected_;
  const Takes takes = is_alone ? Takes::any_plan : Takes::what_failed_elsewhere;
  for (const auto& [id, worker, count] : grants)
    assign(id, *worker, count, takes, time_left_s, orders);
  // Some plans were not for the worker that they were granted to: anyone idle may have them.
  for (const auto& [id, worker, count] : grants)
    assign(id, *worker, worker->idle(), takes, time_left_s, orders);
  // Nobody looks for these again before something has changed.
  for (std::size_t i = 0; i < grants.size() && pending_count_ > 0; ++i) {
    const auto& [id, worker, count] = grants[i];
    if (worker->changed || (count == 0 && i >= asked)) continue;  // it got some, or was not asked
    worker_changed(id, *worker);
    worker->starved = true;
    starved_.push_back(id);
  }
  return grants.size() == hungry_.size();
}

void WorkQueue::assign(int id, Worker& worker, std::size_t count, Takes takes, double time_left_s,
                       std::vector<Order>& orders) {
  if (count == 0 || pending_count_ == 0 || time_left_s <= 0) return;
  Order order{Order::Kind::assign, id, {}, 0};
  for (auto next = pending_.begin(); next != pending_.end() && order.plans.size() < count;) {
    const auto at = next++;
    auto& [plans, since_s] = at->second;
    if (takes == Takes::any_plan || at->first != id || clock_s_ - since_s > wait_for_others_s)
      assign_from(plans, id, worker, count, time_left_s, order);
    if (plans.empty()) pending_.erase(at);
  }
  if (!order.plans.empty()) orders.push_back(std::move(order));
}

void WorkQueue::assign_from(PendingPlans& pending, int id, Worker& worker, std::size_t count,
                            double time_left_s, Order& order) {
  PendingPlans::Key from{std::numeric_limits<std::int32_t>::min(), 0, infinity};
  while (order.plans.size() < count) {
    const PendingPlans::Key* const next = pending.at_or_after(from);
    if (next == nullptr) return;
    from = {next->trouble, next->position + 1, next->updates};
    const double left_s = time_left_s - start_delay_s(worker);
    // False where nothing is known: NaN.
    if (next->updates > 0 && caution * worker.kind->cost.predict_s(next->updates) > left_s) {
      // So are all that are longer: the next to look at is the longest that fits. Plans of unknown
      // length come last.
      const double fits = std::max(0.0, worker.kind->cost.updates_within(left_s / caution));
      const PendingPlans::Key longest{next->trouble, 0, fits};
      if (from < longest) from = longest;
      continue;
    }
    --pending_count_;
    const PendingPlans::Key taken = *next;
    pending.erase(taken);
    lease(numbers_[taken.position], id, worker, order);
  }
}

/// A plan that is not among the pending ones any more.
void WorkQueue::lease(std::uint32_t number, int id, Worker& worker, Order& order) {
  Plan& plan = plan_of(number);
  plan.state = State::leased;
  hold(number, plan, id, worker);
  order.plans.push_back(number);
}

/// A lease of a plan that the worker does not have yet.
WorkQueue::Lease& WorkQueue::hold(std::uint32_t number, Plan& plan, int id, Worker& worker) {
  if (plan.state == State::pending) {
    remove_pending(plan);
    plan.state = State::leased;
  }
  ++plan.holders;
  ++leases_;
  plan_changed(number);
  worker_changed(id, worker);
  const int next = std::exchange(plan.first_holder, id);
  return worker.leases[number] = {false, next, clock_s_};
}

/// `look` is given the worker's id, the worker and its lease; it changes nothing.
template <class Look>
void WorkQueue::for_each_holder(std::uint32_t number, const Plan& plan, Look look) {
  for (int id = plan.first_holder; id != no_worker;) {
    Worker& worker = workers_.at(id);
    Lease& lease = worker.leases.at(number);
    look(id, worker, lease);
    id = lease.next_holder;
  }
}

void WorkQueue::begin_tail() {
  tail_ = true;
  for (auto& [id, worker] : workers_) {
    worker_changed(id, worker);
    for (const auto& [number, lease] : worker.leases) plan_changed(number);
  }
}

void WorkQueue::retract_for_the_idle(std::vector<Order>& orders) {
  if (retracting_ > 0) return;  // its answer may be enough
  // What is not for those that were just asked would come back, and be retracted again and again.
  std::size_t idle = idle_threads_ - idle_in_vain_;
  for (auto busiest = spare_.rbegin(); busiest != spare_.rend() && idle > 0; ++busiest) {
    const int id = -busiest->second;
    const std::size_t count = std::min(idle, busiest->first);
    orders.push_back({Order::Kind::retract, id, {}, count});
    Worker& worker = workers_.at(id);
    worker.retracting = true;
    ++retracting_;
    worker_changed(id, worker);
    idle -= count;
  }
}

/// Where it is looked at for copies.
void WorkQueue::plan_changed(std::uint32_t number) {
  if (tail_) changed_plans_.push_back(number);
}

void WorkQueue::settle_running() {
  for (const std::uint32_t number : changed_plans_) place_running(number);
  changed_plans_.clear();
  for (const RunningPlans* const plans : {&held_once_, &held_twice_}) {
    while (const auto number = plans->overdue(clock_s_)) place_running(*number);
  }
}

/// By the holder that will be done first, as far as is known now. What was given to a thread and
/// is not said to run counts as running: it may never start.
void WorkQueue::place_running(std::uint32_t number) {
  held_once_.remove(number);
  held_twice_.remove(number);
  const Plan& plan = plan_of(number);
  if (plan.state != State::leased || plan.holders >= most_holders) return;
  double least_s = infinity;
  RunningPlans::Place place{false, infinity};
  for_each_holder(number, plan, [&](int, const Worker& worker, const Lease& lease) {
    if (worker.leaving) return;
    const double left = left_s(plan, worker, lease);
    if (!(left < least_s)) return;
    least_s = left;
    const double end_s = lease.started_s + expected_s(plan, worker);
    place = end_s > clock_s_ ? RunningPlans::Place{false, end_s}
                             : RunningPlans::Place{true, lease.started_s};
  });
  (plan.holders == 1 ? held_once_ : held_twice_).put(number, place);
}

/// Running plans of which idle workers may get a copy, what takes longest from now first.
struct WorkQueue::Copyable {
  RunningPlans::Cursor once;                         ///< those that one worker has
  std::vector<RunningPlans::Candidate> passed_over;  ///< of these: not for the workers so far
  const std::vector<RunningPlans::Candidate> twice;  ///< those that two workers have
};

/// Fills a worker's idle threads, as far as there are copies for it.
Order WorkQueue::copies_for(int id, Worker& worker, Copyable& plans, double time_left_s) {
  using Candidate = RunningPlans::Candidate;
  Order order{Order::Kind::assign, id, {}, 0};
  const auto take = [&](const Candidate& candidate, std::size_t holders, double within_s) {
    const Plan& plan = plan_of(candidate.number);
    const double expected = caution * expected_s(plan, worker);
    const bool suits = plan.holders == holders && plan.failed_at != id &&
                       !worker.leases.contains(candidate.number) && !(expected > time_left_s) &&
                       (holders == 1 || expected < within_s);
    if (suits) lease(candidate.number, id, worker, order);
    return suits;
  };
  // One copy costs nothing and may save much.
  std::vector<Candidate>& passed_over = plans.passed_over;
  for (auto at = passed_over.begin(); at != passed_over.end() && worker.idle() > 0;)
    at = take(*at, 1, infinity) ? passed_over.erase(at) : at + 1;
  while (worker.idle() > 0 && passed_over.size() < most_looks + worker.threads) {
    const auto candidate = plans.once.next();
    if (!candidate) break;
    if (!take(*candidate, 1, infinity)) passed_over.push_back(*candidate);
  }
  // Another only where it should be done well before: plans that slow workers copied from each
  // other must not be kept from a fast one.
  for (const Candidate& candidate : plans.twice) {
    if (worker.idle() == 0) break;
    take(candidate, 2, candidate.left_s / 2);
  }
  return order;
}

void WorkQueue::copy_for_the_idle(std::vector<Order>& orders, double time_left_s) {
  if (idle_threads_ == 0 || workers_.size() < 2 || time_left_s <= 0) return;
  // What is on its way back must not be copied.
  if (retracting_ > 0) return;
  settle_running();
  Copyable plans{
      {held_once_, clock_s_}, {}, RunningPlans::Cursor(held_twice_, clock_s_).next(most_looks)};
  std::map<const Kind*, int> fruitless;
  std::size_t looks = 0;
  for (const auto& [speed, id] : idle_) {
    if (pending_.contains(id)) continue;  // it tries again soon what failed there
    Worker& worker = workers_.at(id);
    if (fruitless[worker.kind] >= most_fruitless) {
      if (++looks > most_looks) break;
      continue;
    }
    Order order = copies_for(id, worker, plans, time_left_s);
    if (order.plans.empty()) {
      ++fruitless[worker.kind];
    } else {
      orders.push_back(std::move(order));
    }
  }
}

double WorkQueue::seconds_left() const {
  const double mean_updates =
      known_plans_ > 0 ? known_updates_ / static_cast<double>(known_plans_) : 0;
  // What was predicted for the work of each kind, and what it took: plans at hand count, too, as
  // they may be held up for longer than any that has ended.
  std::map<const Kind*, CostModel::Totals> totals;
  for (const auto& [name, kind] : kinds_) totals[&kind] = kind.cost.latest();
  double done = 0;  // of the running plans, in plans of mean work
  double longest_s = 0;
  // Of so many, enough have just ended to tell as much, and to look at all would take long.
  constexpr std::size_t most_looked_at = 10'000;
  for (const auto& [id, worker] : workers_) {
    if (leases_ > most_looked_at) break;
    CostModel::Totals& of_kind = totals[worker.kind];
    for (const auto& [number, lease] : worker.leases) {
      const Plan& plan = plans_[position_of_[number]];
      const double predicted_s = expected_s(plan, worker);
      if (!lease.running || plan.finished() || !(predicted_s > 0)) continue;
      const double elapsed_s = clock_s_ - lease.started_s;
      const double covered_s = std::min(elapsed_s, predicted_s);
      of_kind.seconds += elapsed_s;
      of_kind.predicted_s += covered_s;
      done += covered_s / predicted_s * plan.updates / mean_updates / plan.holders;
      if (plan.holders == 1) longest_s = std::max(longest_s, predicted_s - covered_s);
    }
  }
  double rate = 0;
  for (const auto& [name, kind] : kinds_) {
    const auto& [seconds, predicted_s] = totals[&kind];
    const double held_up = predicted_s > 0 ? seconds / predicted_s : 1;
    const double foreseen_s = mean_updates > 0 ? kind.cost.predict_s(mean_updates) * held_up : nan;
    rate += foreseen_s > 0 ? static_cast<double>(kind.threads) / foreseen_s : kind.rate;
  }
  constexpr double none = 1e-12;  // what rounding leaves of sums
  if (!(rate > none)) return nan;
  return std::max((static_cast<double>(unfinished_) - done) / rate, longest_s);
}

PredictionQuality WorkQueue::prediction_quality() const {
  std::vector<double> ratios;
  for (const auto& [name, kind] : kinds_)
    ratios.insert(ratios.end(), kind.cost.ratios().begin(), kind.cost.ratios().end());
  return judge_predictions(std::move(ratios));
}

void WorkQueue::add_pending(Plan& plan) {
  plan.state = State::pending;
  Failed& group = pending_[plan.failed_at];
  group.since_s = clock_s_;
  group.plans.insert(key(plan));
  if (plan.failed_at != no_worker) failed_since_.emplace_back(clock_s_, plan.failed_at);
  ++pending_count_;
  wake_starved();
}

/// Does nothing where it is not pending. The caller gives it another state, or adds it again.
void WorkQueue::remove_pending(const Plan& plan) {
  if (plan.state != State::pending) return;
  const auto group = pending_.find(plan.failed_at);
  group->second.plans.erase(key(plan));
  --pending_count_;
  if (group->second.plans.empty()) pending_.erase(group);
}

/// On the plan's side; on the worker's it is still there.
void WorkQueue::forget_lease(std::uint32_t number, Plan& plan, int id, const Lease& lease) {
  plan_changed(number);
  --plan.holders;
  int* link = &plan.first_holder;
  while (*link != id) link = &workers_.at(*link).leases.at(number).next_holder;
  *link = lease.next_holder;
}

/// The worker does not have the plan any more, if it had.
void WorkQueue::release(std::uint32_t number, Plan& plan, int id) {
  Worker* const worker = find_worker(id);
  if (worker == nullptr) return;
  const auto lease = worker->leases.find(number);
  if (lease == worker->leases.end()) return;
  worker->running -= lease->second.running ? 1 : 0;
  forget_lease(number, plan, id, lease->second);
  worker->leases.erase(lease);
  --leases_;
  worker_changed(id, *worker);
}

/// Copies that others still solve stay with them: their threads are busy until they answer.
void WorkQueue::finish(std::uint32_t number, Plan& plan, State state) {
  remove_pending(plan);
  plan.state = state;
  plan_changed(number);
  --unfinished_;
  if (plan.updates <= 0) return;
  known_updates_ -= plan.updates;
  --known_plans_;
}

}  // namespace wallheat
