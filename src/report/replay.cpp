#include "report/replay.hpp"

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

Replay::Replay(std::vector<double> seconds, Schedule schedule, double overhead_s)
    : plans_(std::move(seconds)), schedule_(schedule) {
  for (double& plan : plans_) plan += overhead_s;
  if (schedule == Schedule::longest_first) std::sort(plans_.begin(), plans_.end(), std::greater{});
}

double Replay::seconds(std::size_t workers) const {
  if (schedule_ == Schedule::static_shares) return of_shares(workers);
  const std::size_t busy = std::min(workers, plans_.size());
  // When each worker is free, the first on top. All are free at once for their first plans.
  std::priority_queue free(std::greater<double>{},
                           std::vector(plans_.begin(), plans_.begin() + std::ptrdiff_t(busy)));
  double end = 0;
  for (std::size_t plan = 0; plan < busy; ++plan) end = std::max(end, plans_[plan]);
  for (std::size_t plan = busy; plan < plans_.size(); ++plan) {
    const double done = free.top() + plans_[plan];
    free.pop();
    free.push(done);
    end = std::max(end, done);
  }
  return end;
}

double Replay::of_shares(std::size_t workers) const {
  double longest = 0;
  const auto border = [&](std::size_t share) {
    // Beyond one plan a worker, more workers change nothing; and the product stays small.
    const std::size_t shares = std::min(workers, std::max<std::size_t>(plans_.size(), 1));
    return plans_.begin() + std::ptrdiff_t(share * plans_.size() / shares);
  };
  for (std::size_t share = 0; share < std::min(workers, plans_.size()); ++share)
    longest = std::max(longest, std::accumulate(border(share), border(share + 1), 0.0));
  return longest;
}

}  // namespace wallheat
