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

std::vector<double> sum_of_even_powers(const std::vector<double>& power_expansion) {
  // (1 - x^2) T_j = (2 T_j - T_{j+2} - T_{j-2}) / 4, so the coefficients' second differences are
  // four times those of the power.
  std::vector<double> coefficients(power_expansion.size(), 0);
  double beyond = 0;
  double twice_summed = 0;
  for (std::size_t j = power_expansion.size() - 1; j >= 2; j -= 2) {
    beyond += power_expansion[j];
    twice_summed += beyond;
    coefficients[j - 2] = (j == 2 ? 2 : 4) * twice_summed;
  }
  return coefficients;
}

}  // namespace wallheat
