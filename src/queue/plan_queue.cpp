#include "queue/plan_queue.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

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
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

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
    const auto place = lines_.find(line(plan));
    if (entry.before == none) place->second.first = entry.after;
    if (entry.after == none) place->second.last = entry.before;
    if (place->second.first == none) lines_.erase(place);
  }
  --open_;
}

const PlanQueue::Worker* PlanQueue::find(int id) const {
  const auto place = static_cast<std::size_t>(id);
  return place < workers_.size() && workers_[place].lanes > 0 ? &workers_[place] : nullptr;
}

PlanQueue::Worker* PlanQueue::find(int id) {
  return const_cast<Worker*>(std::as_const(*this).find(id));
}

std::size_t PlanQueue::Worker::place_of(Plan plan) const {
  std::size_t place = 0;  // what is answered was given before the rest, so it is near
  while (place < leases.size() && leases[place].plan != plan) ++place;
  return place;
}

void PlanQueue::joined(int id, unsigned lanes, bool alone, const std::string& kind) {
  const auto place = static_cast<std::size_t>(id);
  if (workers_.size() <= place) workers_.resize(place + 1);
  Worker& worker = workers_[place];
  here_ += worker.lanes > 0 ? 0 : 1;
  all_lanes_ -= worker.lanes;
  worker.lanes = std::max(1U, lanes);
  all_lanes_ += worker.lanes;
  worker.alone = alone;
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
  for (Lease& lease : worker->leases) {
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
  const std::size_t place = worker->place_of(plan);
  return place < worker->leases.size() && start(worker->leases[place]);
}

PlanQueue::Outcome PlanQueue::answered(int id, Plan plan, double seconds) {
  if (!has(plan)) return Outcome::nobodys;
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

PlanQueue::Outcome PlanQueue::failed(int id, Plan plan, bool may_pass) {
  if (!has(plan)) return Outcome::nobodys;
  Worker* const worker = find(id);
  release(worker, plan);
  if (is_finished(plan)) return Outcome::second;
  if (worker != nullptr) worker->failed_s = now_s_;
  change(plan, [&](Entry& entry) {
    count(entry.failures);
    entry.avoid = id;
  });
  if (may_pass && plans_[plan].failures < max_attempts_) return Outcome::again;
  finish(plan, State::failed);
  return Outcome::failed;
}

void PlanQueue::returned(int id, Plan plan, bool shaken) {
  if (!has(plan) || !release(find(id), plan) || !shaken) return;
  change(plan, [](Entry& entry) { entry.losses = std::max<std::uint8_t>(entry.losses, 1); });
}

std::vector<PlanQueue::Plan> PlanQueue::give(int id, double time_left_s, bool at_last) {
  std::vector<Plan> given;
  Worker* const worker = find(id);
  if (worker == nullptr || worker->silent || time_left_s <= 0) return given;
  const auto has_troubled_alone = [&] {
    return worker->alone && worker->leases.size() == 1 &&
           plans_[worker->leases[0].plan].troubles() > 0;
  };
  if (has_troubled_alone()) return given;  // nothing keeps it company
  const std::size_t want = wanted(*worker);
  if (want > 0) give_open(id, *worker, want, time_left_s, at_last, given);
  if (worker->leases.size() < worker->lanes && open_ == 0 && !has_troubled_alone())
    give_copies(*worker, time_left_s, given);
  return given;
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
                          bool at_last, std::vector<Plan>& given) {
  const bool takes_back =
      at_last || (here_ < 2 && !more_are_expected_) || now_s_ - worker.failed_s > wait_for_others_s;
  Plan next = first_from(0);
  for (int looks = 0; given.size() < most && looks < most_looks && next != none;) {
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
    if (worker.alone && entry.troubles() > 0 && held > 0) return;  // so are all that follow
    hold(worker, plan);
    given.push_back(plan);
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
  constexpr double s_per_lease = 1e-5, late = 1e9;
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

void PlanQueue::give_copies(Worker& worker, double time_left_s, std::vector<Plan>& given) {
  list_copyable();
  while (!copyable_.empty() && !is_copyable(copyable_.back().second)) copyable_.pop_back();
  int looks = 0;
  for (auto each = copyable_.rbegin(); each != copyable_.rend() && looks < most_looks; ++each) {
    if (worker.leases.size() >= worker.lanes) return;
    ++looks;
    const auto [left_s, plan] = *each;
    if (!is_copyable(plan) || worker.holds(plan)) continue;
    if (worker.alone && plans_[plan].troubles() > 0) continue;
    // One copy costs nothing and may save much; another only if it should be done well before.
    const double here_s = caution * worker.pace->seconds_for(plans_[plan].updates);
    if (here_s > time_left_s || (plans_[plan].holders > 1 && here_s >= left_s / 2)) continue;
    hold(worker, plan);
    given.push_back(plan);
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

void PlanQueue::hold(Worker& worker, Plan plan) {
  const double plan_s = worker.pace->seconds_for(plans_[plan].updates);
  const double queued = std::floor(static_cast<double>(worker.leases.size()) / worker.lanes);
  const double end_s = plan_s > 0 ? now_s_ + (queued + 1) * plan_s : now_s_;
  worker.leases.push_back({plan, static_cast<float>(end_s)});
  count_holder(worker.leases.back());
}

bool PlanQueue::release(Worker* worker, Plan plan) {
  if (worker == nullptr) return false;
  const std::size_t place = worker->place_of(plan);
  if (place == worker->leases.size()) return false;
  const auto lease = worker->leases.begin() + static_cast<std::ptrdiff_t>(place);
  if (!worker->silent) discount_holder(*lease);
  worker->leases.erase(lease);
  return true;
}

/// Of a worker that is not silent. Returns false if it was known.
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
