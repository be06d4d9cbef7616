#include "queue/work_queue.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wallheat {
namespace {

// Plans waiting at a worker should last this long: far more than a message takes, so that small
// plans travel in batches and rank 0 is asked some ten times a second per worker, not per plan.
constexpr double prefetch_s = 0.1;
constexpr std::size_t most_waiting = 1024;

}  // namespace

std::size_t WorkQueue::Worker::prefetch() const {
  if (mean_s <= 0) return threads;
  const double wanted = static_cast<double>(threads) * prefetch_s / mean_s;
  if (wanted >= static_cast<double>(most_waiting)) return most_waiting;
  return std::max(threads, static_cast<std::size_t>(wanted));
}

WorkQueue::WorkQueue(const std::vector<std::uint32_t>& plans)
    : pending_(plans.begin(), plans.end()), unfinished_(plans.size()) {
  for (const std::uint32_t plan : plans) plans_[plan] = {};
}

void WorkQueue::worker_joined(int worker, std::size_t threads) {
  workers_[worker].threads = std::max<std::size_t>(1, threads);
}

std::vector<std::uint32_t> WorkQueue::worker_left(int worker) {
  std::vector<std::uint32_t> lost;
  for (const auto& [plan, lease] : plans_) {
    if (lease.worker == worker) lost.push_back(plan);
  }
  std::sort(lost.begin(), lost.end());
  for (auto plan = lost.rbegin(); plan != lost.rend(); ++plan) put_back(*plan);
  workers_.erase(worker);
  return lost;
}

void WorkQueue::plan_started(int worker, std::uint32_t plan) {
  const auto found = plans_.find(plan);
  if (found == plans_.end() || found->second.worker != worker) return;
  if (found->second.state != State::waiting) return;
  found->second.state = State::running;
  --workers_[worker].waiting;
  ++workers_[worker].running;
}

bool WorkQueue::plan_finished(int worker, std::uint32_t plan, double seconds) {
  const auto found = plans_.find(plan);
  if (found == plans_.end() || found->second.state == State::finished) return false;
  if (found->second.state == State::pending) {
    pending_.erase(std::find(pending_.begin(), pending_.end(), plan));
  }
  unlease(found->second);
  found->second.state = State::finished;
  --unfinished_;
  if (const auto known = workers_.find(worker); known != workers_.end()) {
    double& mean = known->second.mean_s;
    constexpr double weight = 0.2;
    mean = mean > 0 ? mean + weight * (seconds - mean) : seconds;
  }
  return true;
}

void WorkQueue::plans_returned(int worker, const std::vector<std::uint32_t>& plans) {
  if (const auto known = workers_.find(worker); known != workers_.end()) {
    known->second.recalling = false;
  }
  for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
    const auto found = plans_.find(*plan);
    if (found != plans_.end() && found->second.worker == worker) put_back(*plan);
  }
}

std::vector<Order> WorkQueue::orders() {
  std::vector<Order> orders;
  std::map<int, std::size_t> grants;
  std::size_t left = pending_.size();
  std::size_t all_threads = 0;
  for (const auto& [id, worker] : workers_) {
    all_threads += worker.threads;
    grants[id] = std::min(worker.idle(), left);
    left -= grants[id];
  }
  // What is left over waits at the workers; each gets at most half of its fair share, so that the
  // batches shrink towards the end.
  const std::size_t to_share = left;
  for (const auto& [id, worker] : workers_) {
    const std::size_t waiting = worker.load() + grants[id] > worker.threads
                                    ? worker.load() + grants[id] - worker.threads
                                    : 0;
    if (waiting > worker.prefetch() / 2) continue;
    const std::size_t fair = to_share * worker.threads / (2 * all_threads);
    const std::size_t more =
        std::min({left, worker.prefetch() - waiting, std::max<std::size_t>(1, fair)});
    grants[id] += more;
    left -= more;
  }
  for (const auto& [id, count] : grants) {
    if (count > 0) orders.push_back(assign(id, count));
  }
  if (pending_.empty()) recall_for_the_idle(orders);
  return orders;
}

Order WorkQueue::assign(int worker, std::size_t count) {
  Order order{Order::Kind::assign, worker, {}, 0};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t plan = pending_.front();
    pending_.pop_front();
    plans_[plan] = {State::waiting, worker};
    ++workers_[worker].waiting;
    order.plans.push_back(plan);
  }
  return order;
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

double WorkQueue::seconds_left() const {
  double rate = 0;
  for (const auto& [id, worker] : workers_) {
    if (worker.mean_s > 0) rate += static_cast<double>(worker.threads) / worker.mean_s;
  }
  return rate > 0 ? static_cast<double>(unfinished_) / rate
                  : std::numeric_limits<double>::quiet_NaN();
}

void WorkQueue::unlease(Plan& plan) {
  if (plan.state == State::waiting) --workers_[plan.worker].waiting;
  if (plan.state == State::running) --workers_[plan.worker].running;
  plan.worker = -1;
}

void WorkQueue::put_back(std::uint32_t plan) {
  Plan& lease = plans_[plan];
  unlease(lease);
  lease.state = State::pending;
  pending_.push_front(plan);
}

}  // namespace wallheat
