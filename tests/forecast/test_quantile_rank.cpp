#include <gtest/gtest.h>

#include <cmath>

#include "forecast/wait_forecast.hpp"

namespace wallheat {
namespace {

/// P(Bin(n, q) <= k), summed term by term.
double binomial_cdf(std::size_t n, std::size_t k, double q) {
  double sum = 0;
  const auto count = static_cast<double>(n);
  for (std::size_t i = 0; i <= k; ++i) {
    const auto hits = static_cast<double>(i);
    sum += std::exp(std::lgamma(count + 1) - std::lgamma(hits + 1) - std::lgamma(count - hits + 1) +
                    hits * std::log(q) + (count - hits) * std::log1p(-q));
  }
  return sum;
}

TEST(QuantileRank, is_the_smallest_that_has_the_confidence) {
  for (const double q : {0.5, 0.75, 0.95, 0.995}) {
    for (const std::size_t n : {0, 4, 5, 58, 59, 60, 93, 500, 5000}) {
      const std::size_t k = quantile_rank(n, q);
      if (k == 0) {
        EXPECT_LT(1 - std::pow(q, static_cast<double>(n)), 0.95) << q << " " << n;
        continue;
      }
      EXPECT_GE(binomial_cdf(n, k - 1, q), 0.95) << q << " " << n;
      EXPECT_LT(binomial_cdf(n, k - 2, q), 0.95) << q << " " << n;
    }
  }
}

}  // namespace
}  // namespace wallheat
