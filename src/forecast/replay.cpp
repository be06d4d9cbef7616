#include "forecast/replay.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace wallheat {

std::string_view to_string(Schedule schedule) {
  switch (schedule) {
    case Schedule::static_shares:
      return "static";
    case Schedule::dynamic:
      return "dynamic";
    case Schedule::longest_first:
      break;
  }
  return "longest-first";
}

Replay::Replay(std::vector<double> seconds, Schedule schedule)
    : plans_(std::move(seconds)), schedule_(schedule) {
  if (schedule == Schedule::longest_first) std::sort(plans_.begin(), plans_.end(), std::greater{});
}

double Replay::seconds(std::size_t workers) const {
  if (schedule_ == Schedule::static_shares) return static_shares_seconds(workers);
  const std::size_t busy = std::min(workers, plans_.size());
  // Times at which the workers are free, the earliest on top. All workers get their first plans at
  // time 0.
  const auto next = plans_.begin() + static_cast<std::ptrdiff_t>(busy);
  std::priority_queue free(std::greater<double>{}, std::vector(plans_.begin(), next));
  double end = busy == 0 ? 0 : *std::max_element(plans_.begin(), next);
  for (std::size_t plan = busy; plan < plans_.size(); ++plan) {
    const double done = free.top() + plans_[plan];
    free.pop();
    free.push(done);
    end = std::max(end, done);
  }
  return end;
}

double Replay::longest_plan_s() const {
  return plans_.empty() ? 0 : *std::max_element(plans_.begin(), plans_.end());
}

std::size_t Replay::sufficient_workers() const {
  const double min_s = longest_plan_s();
  std::size_t too_few = 0;
  std::size_t enough = std::max<std::size_t>(plans_.size(), 1);
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    (seconds(middle) <= min_s ? enough : too_few) = middle;
  }
  return enough;
}

double Replay::static_shares_seconds(std::size_t workers) const {
  double longest = 0;
  const std::size_t shares = std::min(workers, plans_.size());
  const auto border = [&](std::size_t share) {
    return plans_.begin() + static_cast<std::ptrdiff_t>(share * plans_.size() / shares);
  };
  for (std::size_t share = 0; share < shares; ++share)
    longest = std::max(longest, std::accumulate(border(share), border(share + 1), 0.0));
  return longest;
}

double contention_factor(double slowdown, std::size_t stored_with, std::size_t workers) {
  if ((stored_with > 1) == (workers > 1)) return 1;
  return workers > 1 ? slowdown : 1 / slowdown;
}

}  // namespace wallheat
