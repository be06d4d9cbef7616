#include "solve/fastforward/power_expansion.hpp"

namespace wallheat {

std::vector<double> power_expansion(std::int64_t power, double tail) {
  // Relative to the first, each follows from the one before: binomial(m, (m - j) / 2), of which
  // that at j = 0 counts once and the others for either side.
  std::vector<double> coefficients;
  double value = 1;
  double sum = 0;
  for (std::int64_t j = power % 2; j <= power; j += 2) {
    coefficients.resize(static_cast<std::size_t>(j) + 1, 0);
    coefficients.back() = j == 0 ? value / 2 : value;
    sum += coefficients.back();
    // The ratio to the next falls with j, so what follows is less than a geometric series.
    const std::int64_t there = (power - j) / 2;  // exact, as both are even or odd
    const std::int64_t back = (power + j) / 2;
    const double ratio = static_cast<double>(there) / static_cast<double>(back + 1);
    if (value * ratio < tail * sum * (1 - ratio)) break;
    value *= ratio;
  }
  for (double& coefficient : coefficients) coefficient /= sum;
  return coefficients;
}

}  // namespace wallheat
