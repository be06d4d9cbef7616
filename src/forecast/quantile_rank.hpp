#pragma once

#include <cstddef>
#include <vector>

namespace wallheat {

/// Which of n sorted samples bounds a quantile from above: the smallest rank k, from 1, with
/// P(Bin(n, quantile) <= k - 1) >= confidence, whatever the distribution (Conover, Practical
/// Nonparametric Statistics, 1999, chapter 3.2).
class QuantileRank {
 public:
  /// Both are between 0 and 1.
  explicit QuantileRank(double quantile, double confidence = 0.95);
  /// 0 where n samples do not suffice: for the quantile 0.95 fewer than 59, for the median fewer
  /// than 5. Takes time only for n larger than any before.
  [[nodiscard]] std::size_t of(std::size_t n);
  /// The least n that suffices.
  [[nodiscard]] std::size_t least() const { return least_; }

 private:
  double quantile_;
  double confidence_;
  std::size_t least_ = 1;
  std::vector<std::size_t> ranks_;  ///< of least_, least_ + 1, ...
  double below_ = 0;                ///< P(Bin(n, quantile) <= k - 1) for the last of them
  double at_ = 0;                   ///< P(Bin(n, quantile) = k - 1)
};

}  // namespace wallheat
