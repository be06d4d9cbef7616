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
// a gamble that must not cost much. So many, too, are passed by as they failed at who asks.
constexpr std::size_t most_looks = 64;
constexpr int most_fruitless = 3;  // one holds the plan, at another it failed
// Whoever got nothing is asked again after so long: what keeps a plan from it passes with time.
constexpr double ask_again_s = 1;
constexpr std::uint32_t not_here = std::numeric_limits<std::uint32_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::size_t WorkQueue::Plan::holders() const {
  std::size_t count = 0;
  for (const Lease* lease = leases; lease != nullptr; lease = lease->next) ++count;
  return count;
}

double WorkQueue::Worker::speed() const { return mean_s > 0 ? mean_s : infinity; }

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
  if (is_new) {
    worker.id = id;
    changed_.push_back(id);
  }
  change(worker);
  worker.threads = std::max<std::size_t>(1, threads);
  worker.cost = &costs_[kind];
  worker.leaving = false;
  ask_again();
}

void WorkQueue::worker_leaving(int id) {
  Worker* const worker = find_worker(id);
  if (worker == nullptr) return;
  change(*worker);
  worker->leaving = true;
}

void WorkQueue::worker_left(int id) { (void)remove_worker(id, false); }

std::vector<std::uint32_t> WorkQueue::worker_lost(int id) { return remove_worker(id, true); }

std::vector<std::uint32_t> WorkQueue::remove_worker(int id, bool is_lost) {
  std::vector<std::uint32_t> given_up;
  Worker* const worker = find_worker(id);
  if (worker == nullptr) return given_up;
  change(*worker);
  for (const auto& [number, lease] : worker->leases) {
    Plan& plan = plan_of(number);
    unlink(plan, lease);
    if (plan.state != State::leased) continue;
    if (is_lost && lease.running) ++plan.lost_workers;
    if (plan.lost_workers >= max_attempts_) {  // whoever has a copy may still answer it
      finish(plan, State::failed);
      given_up.push_back(number);
    } else if (plan.leases == nullptr) {
      add_pending(plan);
    }
  }
  leases_ -= worker->leases.size();
  retracting_ -= worker->retracting ? 1 : 0;
  workers_.erase(id);
  ask_again();  // one may be alone now
  return given_up;
}

bool WorkQueue::plan_started(int id, std::uint32_t number, double since_s) {
  Plan* const plan = find(number);
  if (plan == nullptr) return true;
  if (Worker* const worker = find_worker(id)) {
    const auto found = worker->leases.find(number);
    Lease& lease = found != worker->leases.end() ? found->second : hold(number, *plan, *worker);
    if (!lease.running) {
      change(*worker);
      lease.running = true;
      lease.started_s = clock_s_ - since_s;
      ++worker->running;
    }
  }
  for (const Lease* lease = plan->leases; lease != nullptr; lease = lease->next)
    if (lease->worker->id != id && lease->running) return false;
  return !plan->finished();
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
    change(*worker);
    double& mean = worker->mean_s;
    constexpr double weight = 0.2;
    mean = mean > 0 ? mean + weight * (seconds - mean) : seconds;
  }
  if (plan->state == State::answered) return Answer::repeated;
  if (worker != nullptr && plan->updates > 0 && worker->cost->observe(plan->updates, seconds))
    ask_again();
  if (plan->state == State::failed) {
    plan->state = State::answered;  // late, but as good as any
  } else {
    finish(*plan, State::answered);
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
  if (Worker* const worker = find_worker(id)) worker->failed_s = clock_s_;
  if (may_pass && plan->failures < max_attempts_) {
    if (plan->leases == nullptr) add_pending(*plan);  // somebody is at it otherwise
    return Failure::to_be_tried_again;
  }
  finish(*plan, State::failed);  // whoever has a copy may still answer it after all
  return Failure::final;
}

void WorkQueue::expect_more_workers(bool expected) {
  if (std::exchange(more_are_expected_, expected) != expected) ask_again();
}

void WorkQueue::plans_returned(int id, const std::vector<std::uint32_t>& plans) {
  if (Worker* const worker = find_worker(id); worker != nullptr && worker->retracting) {
    change(*worker);
    worker->retracting = false;
    --retracting_;
  }
  for (const std::uint32_t number : plans) {
    Plan* const plan = find(number);
    if (plan == nullptr) continue;
    release(number, *plan, id);
    if (plan->state == State::leased && plan->leases == nullptr) add_pending(*plan);
  }
}

void WorkQueue::set_work(std::uint32_t number, double updates) {
  Plan* const plan = find(number);
  if (plan == nullptr || plan->finished() || !(updates > 0)) return;
  const bool pending = plan->state == State::pending;
  remove_pending(*plan);
  known_plans_ += plan->updates > 0 ? 0 : 1;
  known_updates_ -= plan->updates;
  plan->updates = static_cast<float>(updates);
  known_updates_ += plan->updates;
  if (pending) add_pending(*plan);
}

bool WorkQueue::any_busy() const { return leases_ > 0 || retracting_ > 0; }

bool WorkQueue::is_late_copy(std::uint32_t number) const {
  const Plan* const plan = find(number);
  return plan != nullptr && plan->finished() && plan->leases != nullptr;
}

std::int32_t WorkQueue::failures(std::uint32_t number) const {
  const Plan* const plan = find(number);
  return plan == nullptr ? 0 : plan->failures;
}

/// NaN where nothing is known.
double WorkQueue::expected_s(const Plan& plan, const Worker& worker) {
  return plan.updates > 0 ? worker.cost->predict_s(plan.updates) : nan;
}

/// How long a running plan will still take there. One that takes longer than was expected may be on
/// a sick machine: it may take as long again. What was given to a thread and is not said to run
/// counts as running: it may never start.
double WorkQueue::left_s(const Plan& plan, const Lease& lease) const {
  const double elapsed = clock_s_ - lease.started_s;
  const double left = expected_s(plan, *lease.worker) - elapsed;
  return left > 0 ? left : elapsed;
}

/// About how long a plan would wait at this worker before a thread takes it.
double WorkQueue::start_delay_s(const Worker& worker) {
  return worker.idle() > 0 ? 0
                           : worker.mean_s * static_cast<double>(worker.waiting() + 1) /
                                 static_cast<double>(worker.threads);
}

bool WorkQueue::waits_for_others(const Worker& worker) const {
  return clock_s_ - worker.failed_s <= wait_for_others_s;
}

/// To be called before a worker changes. Until it is counted again, as orders() does, it is in none
/// of the sums and sets.
void WorkQueue::change(Worker& worker) {
  if (std::exchange(worker.counted, false)) {
    changed_.push_back(worker.id);
    all_prefetch_ -= worker.prefetch();
    all_spare_ -= worker.spare();
    if (!worker.passed_over) idle_threads_ -= worker.idle();
    if (worker.idle() > 0) idle_.erase(&worker);
    if (worker.takes_more()) unsaturated_.erase(&worker);
  }
  worker.passed_over = false;
}

void WorkQueue::count_changed() {
  for (const int id : changed_) {
    Worker* const worker = find_worker(id);
    if (worker == nullptr || std::exchange(worker->counted, true)) continue;
    all_prefetch_ += worker->prefetch();
    all_spare_ += worker->spare();
    if (!worker->passed_over) idle_threads_ += worker->idle();
    if (worker->idle() > 0) idle_.insert(worker);
    if (worker->takes_more()) unsaturated_.insert(worker);
  }
  changed_.clear();
}

/// Something may be for those that got nothing before.
void WorkQueue::ask_again() {
  asked_again_s_ = clock_s_;
  for (const int id : passed_over_) {
    if (Worker* const worker = find_worker(id); worker != nullptr && worker->passed_over)
      change(*worker);
  }
  passed_over_.clear();
}

std::vector<Order> WorkQueue::orders(double time_left_s) {
  std::vector<Order> orders;
  if (time_left_s > last_time_left_s_ || clock_s_ - asked_again_s_ > ask_again_s) ask_again();
  last_time_left_s_ = time_left_s;
  count_changed();
  while (!pending_.empty() && !feed(time_left_s, orders)) count_changed();
  // Nobody else has time enough for what is left.
  if (orders.empty() && !pending_.empty() && !any_busy() && !more_are_expected_) {
    for (auto next = idle_.begin(); next != idle_.end();) {
      Worker& worker = **next++;  // it is not among them any more once it gets something
      assign(worker, worker.idle(), true, time_left_s, orders);
    }
  }
  count_changed();
  if (orders.empty()) retract_for_the_idle(orders);
  if (orders.empty()) copy_for_the_idle(time_left_s, orders);
  return orders;
}

/// Hands out pending plans to those that would take some. Fast workers get the longest plans.
/// Returns false where some were not asked, as the plans seemed to be enough for others alone.
bool WorkQueue::feed(double time_left_s, std::vector<Order>& orders) {
  struct Grant {
    Worker* worker;
    std::size_t count;
  };
  std::vector<Grant> grants;
  std::size_t left = pending_.size();
  for (Worker* const worker : unsaturated_) {
    if (left == 0) break;
    grants.push_back({worker, std::min(worker->idle(), left)});
    left -= grants.back().count;
  }
  const bool all_are_asked = grants.size() == unsaturated_.size();
  // What is left over waits at the workers; each gets at most half of its fair share, so that the
  // batches shrink towards the end.
  const std::size_t to_share = left;
  std::size_t asked = 0;
  for (auto& [worker, count] : grants) {
    if (left == 0) break;
    ++asked;
    // Where time is short and nothing can be foretold, nothing waits: what waits will be started.
    if (std::isfinite(time_left_s) && !std::isfinite(worker->cost->predict_s(1))) continue;
    const std::size_t room = worker->room(count);
    if (room == 0) continue;
    const std::size_t fair = to_share * worker->prefetch() / (2 * all_prefetch_);
    const std::size_t more = std::min({left, room, std::max<std::size_t>(1, fair)});
    count += more;
    left -= more;
  }
  const bool is_alone = workers_.size() == 1 && !more_are_expected_;
  for (const auto& [worker, count] : grants) assign(*worker, count, is_alone, time_left_s, orders);
  // Some plans were not for the worker that they were granted to: anyone idle may have them.
  for (const auto& [worker, count] : grants)
    assign(*worker, worker->idle(), is_alone, time_left_s, orders);
  // Nobody looks for these again before something has changed.
  for (std::size_t i = 0; i < grants.size() && !pending_.empty(); ++i) {
    const auto& [worker, count] = grants[i];
    // It got some, or was not asked.
    if (!worker->counted || (count == 0 && i >= asked)) continue;
    change(*worker);
    worker->passed_over = true;
    passed_over_.push_back(worker->id);
  }
  return all_are_asked;
}

/// Gives a worker pending plans; `any_plan`: those as well that failed there last.
void WorkQueue::assign(Worker& worker, std::size_t count, bool any_plan, double time_left_s,
                       std::vector<Order>& orders) {
  if (time_left_s <= 0) return;
  Order order{Order::Kind::assign, worker.id, {}, 0};
  const bool keeps_for_others = !any_plan && waits_for_others(worker);
  PendingPlans::Key from{std::numeric_limits<std::int32_t>::min(), 0,
                         std::numeric_limits<float>::infinity()};
  for (std::size_t looks = 0; order.plans.size() < count && looks < most_looks;) {
    const PendingPlans::Key* const next = pending_.at_or_after(from);
    if (next == nullptr) break;
    from = {next->trouble, next->position + 1, next->updates};
    const double left_s = time_left_s - start_delay_s(worker);
    // False where nothing is known: NaN.
    if (next->updates > 0 && caution * worker.cost->predict_s(next->updates) > left_s) {
      // So are all that are longer: the next to look at is the longest that fits. Plans of unknown
      // length come last.
      const double fits = std::max(0.0, worker.cost->updates_within(left_s / caution));
      const PendingPlans::Key longest{next->trouble, 0, static_cast<float>(fits)};
      if (from < longest) from = longest;
    } else if (keeps_for_others && plans_[next->position].failed_at == worker.id) {
      ++looks;
    } else {
      lease(numbers_[next->position], worker, order);
    }
  }
  if (!order.plans.empty()) orders.push_back(std::move(order));
}

void WorkQueue::lease(std::uint32_t number, Worker& worker, Order& order) {
  hold(number, plan_of(number), worker);
  order.plans.push_back(number);
}

/// A lease of a plan that the worker does not have yet.
WorkQueue::Lease& WorkQueue::hold(std::uint32_t number, Plan& plan, Worker& worker) {
  remove_pending(plan);
  change(worker);
  ++leases_;
  Lease& lease = worker.leases[number] = {&worker, plan.leases, clock_s_, false};
  plan.leases = &lease;
  return lease;
}

void WorkQueue::retract_for_the_idle(std::vector<Order>& orders) {
  // Where workers are asked already, their answer may be enough. What is not for those that were
  // passed over would come back, and be retracted again and again.
  if (retracting_ > 0 || idle_threads_ == 0 || all_spare_ == 0) return;
  std::vector<std::pair<std::size_t, int>> busiest;
  for (const auto& [id, worker] : workers_)
    if (worker.spare() > 0) busiest.emplace_back(worker.spare(), -id);
  std::sort(busiest.rbegin(), busiest.rend());
  std::size_t idle = idle_threads_;
  for (auto next = busiest.begin(); next != busiest.end() && idle > 0; ++next) {
    Worker& worker = workers_.at(-next->second);
    const std::size_t count = std::min(idle, next->first);
    orders.push_back({Order::Kind::retract, worker.id, {}, count});
    change(worker);
    worker.retracting = true;
    ++retracting_;
    idle -= count;
  }
}

void WorkQueue::list_copyable() {
  // The order of many is much the same a moment later.
  constexpr std::size_t few = 1000;
  constexpr double s_per_lease = 1e-5;
  if (leases_ > few && clock_s_ - copyable_s_ < s_per_lease * static_cast<double>(leases_)) return;
  copyable_s_ = clock_s_;
  for (auto& candidates : copyable_) candidates.clear();
  for (const auto& [id, worker] : workers_) {
    for (const auto& [number, lease] : worker.leases) {
      const Plan& plan = plan_of(number);
      const bool is_first = plan.leases == &lease;  // so that each plan is listed once
      if (!is_first || plan.finished() || plan.holders() > copyable_.size()) continue;
      // Of the holder that will be done first, as far as is known now.
      double least_s = infinity;
      for (const Lease* each = plan.leases; each != nullptr; each = each->next)
        if (!each->worker->leaving) least_s = std::min(least_s, left_s(plan, *each));
      copyable_.at(plan.holders() - 1).push_back({least_s, number});
    }
  }
  for (auto& candidates : copyable_) std::sort(candidates.rbegin(), candidates.rend());
}

/// Fills a worker's idle threads, as far as there are copies for it.
Order WorkQueue::copies_for(Worker& worker, double time_left_s) {
  Order order{Order::Kind::assign, worker.id, {}, 0};
  for (std::size_t holders = 1; holders <= copyable_.size(); ++holders) {
    auto& candidates = copyable_.at(holders - 1);
    std::size_t looks = 0;
    for (auto at = candidates.begin();
         at != candidates.end() && worker.idle() > 0 && looks < most_looks + worker.threads;) {
      const auto [left_s, number] = *at;
      const Plan& plan = plan_of(number);
      const bool is_listed_rightly = !plan.finished() && plan.holders() == holders;
      const double expected = caution * expected_s(plan, worker);
      // One copy costs nothing and may save much. Another only where it should be done well before:
      // plans that slow workers copied from each other must not be kept from a fast one.
      const bool suits = plan.failed_at != worker.id && !worker.leases.contains(number) &&
                         !(expected > time_left_s) && (holders == 1 || expected < left_s / 2);
      if (is_listed_rightly && suits) lease(number, worker, order);
      if (is_listed_rightly && !suits) {
        ++looks;
        ++at;
      } else {
        at = candidates.erase(at);
      }
    }
  }
  return order;
}

void WorkQueue::copy_for_the_idle(double time_left_s, std::vector<Order>& orders) {
  if (idle_.empty() || workers_.size() < 2 || time_left_s <= 0) return;
  // What is on its way back must not be copied.
  if (retracting_ > 0) return;
  list_copyable();
  std::map<const CostModel*, int> fruitless;
  std::size_t looks = 0;
  for (auto next = idle_.begin(); next != idle_.end() && looks <= most_looks;) {
    Worker& worker = **next++;  // it is not among them any more once it gets something
    // It tries again soon what failed there.
    if (!pending_.empty() && waits_for_others(worker)) continue;
    if (fruitless[worker.cost] >= most_fruitless) {
      ++looks;
      continue;
    }
    Order order = copies_for(worker, time_left_s);
    if (order.plans.empty()) {
      ++fruitless[worker.cost];
    } else {
      orders.push_back(std::move(order));
    }
  }
}

double WorkQueue::seconds_left() const {
  const double mean_updates =
      known_plans_ > 0 ? known_updates_ / static_cast<double>(known_plans_) : 0;
  // What was predicted for the work of each kind of device, and what it took: plans at hand count,
  // too, as they may be held up for longer than any that has ended.
  struct Pace {
    CostModel::Totals totals;
    double threads = 0;
    double rate = 0;  ///< plans a second, as far as its workers have solved some
  };
  std::map<const CostModel*, Pace> paces;
  for (const auto& [name, cost] : costs_) paces[&cost].totals = cost.latest();
  double done = 0;  // of the running plans, in plans of mean work
  double longest_s = 0;
  // Of so many, enough have just ended to tell as much, and to look at all would take long.
  constexpr std::size_t most_looked_at = 10'000;
  for (const auto& [id, worker] : workers_) {
    Pace& pace = paces[worker.cost];
    pace.threads += static_cast<double>(worker.threads);
    pace.rate += static_cast<double>(worker.threads) / worker.speed();
    if (leases_ > most_looked_at) continue;
    for (const auto& [number, lease] : worker.leases) {
      const Plan& plan = plans_[position_of_[number]];
      const double predicted_s = expected_s(plan, worker);
      if (!lease.running || plan.finished() || !(predicted_s > 0)) continue;
      const double elapsed_s = clock_s_ - lease.started_s;
      const double covered_s = std::min(elapsed_s, predicted_s);
      const auto holders = static_cast<double>(plan.holders());
      pace.totals.seconds += elapsed_s;
      pace.totals.predicted_s += covered_s;
      done += covered_s / predicted_s * plan.updates / mean_updates / holders;
      if (plan.holders() == 1) longest_s = std::max(longest_s, predicted_s - covered_s);
    }
  }
  double rate = 0;
  for (const auto& [cost, pace] : paces) {
    const auto& [seconds, predicted_s] = pace.totals;
    const double held_up = predicted_s > 0 ? seconds / predicted_s : 1;
    const double foreseen_s = mean_updates > 0 ? cost->predict_s(mean_updates) * held_up : nan;
    rate += foreseen_s > 0 ? pace.threads / foreseen_s : pace.rate;
  }
  if (!(rate > 0)) return nan;
  return std::max((static_cast<double>(unfinished_) - done) / rate, longest_s);
}

PredictionQuality WorkQueue::prediction_quality() const {
  PredictionRatios ratios;
  for (const auto& [name, cost] : costs_) ratios.add(cost.ratios());
  return ratios.quality();
}

void WorkQueue::add_pending(Plan& plan) {
  plan.state = State::pending;
  pending_.insert(key(plan));
  ask_again();
}

/// Where it is pending, it counts as leased from now on.
void WorkQueue::remove_pending(Plan& plan) {
  if (plan.state != State::pending) return;
  pending_.erase(key(plan));
  plan.state = State::leased;
}

/// The plan forgets the lease; the worker still has it.
void WorkQueue::unlink(Plan& plan, const Lease& lease) {
  Lease** link = &plan.leases;
  while (*link != &lease) link = &(*link)->next;
  *link = lease.next;
}

/// The worker does not have the plan any more, if it had.
void WorkQueue::release(std::uint32_t number, Plan& plan, int id) {
  Worker* const worker = find_worker(id);
  if (worker == nullptr) return;
  const auto lease = worker->leases.find(number);
  if (lease == worker->leases.end()) return;
  change(*worker);
  unlink(plan, lease->second);
  worker->running -= lease->second.running ? 1 : 0;
  worker->leases.erase(lease);
  --leases_;
}

/// Copies that others still solve stay with them: their threads are busy until they answer.
void WorkQueue::finish(Plan& plan, State state) {
  remove_pending(plan);
  plan.state = state;
  --unfinished_;
  if (plan.updates <= 0) return;
  known_updates_ -= plan.updates;
  --known_plans_;
}

}  // namespace wallheat
