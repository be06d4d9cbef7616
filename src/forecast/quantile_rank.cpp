#include "forecast/quantile_rank.hpp"

#include <cmath>

namespace wallheat {

QuantileRank::QuantileRank(double quantile, double confidence)
    : quantile_(quantile), confidence_(confidence) {
  // The largest of n samples bounds the quantile unless all n are below it.
  double all_below = quantile;
  while (1 - all_below < confidence) {
    all_below *= quantile;
    ++least_;
  }
  ranks_.push_back(least_);
  below_ = 1 - all_below;
  at_ = static_cast<double>(least_) * all_below / quantile * (1 - quantile);
}

std::size_t QuantileRank::of(std::size_t n) {
  if (n < least_) return 0;
  while (least_ + ranks_.size() <= n) {
    // From n to n + 1 samples, then from k to k + 1 where that is needed.
    const auto samples = static_cast<double>(least_ + ranks_.size() - 1);
    std::size_t rank = ranks_.back();
    const auto successes = static_cast<double>(rank - 1);
    below_ -= quantile_ * at_;
    at_ *= (samples + 1) * (1 - quantile_) / (samples + 1 - successes);
    for (double k = successes; below_ < confidence_; ++k, ++rank) {
      at_ *= (samples + 1 - k) / (k + 1) * quantile_ / (1 - quantile_);
      below_ += at_;
    }
    ranks_.push_back(rank);
  }
  return ranks_[n - least_];
}

}  // namespace wallheat
