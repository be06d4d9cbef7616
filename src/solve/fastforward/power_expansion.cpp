#include "solve/fastforward/power_expansion.hpp"

namespace wallheat {
namespace {

/// By squaring, which gives the same bits everywhere.
double power_of(double base, std::int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 != 0) power *= base;
  return power;
}

}  // namespace

PowerExpansion power_expansion(std::int64_t count, double radius, double tail) {
  PowerExpansion result;
  result.damping = power_of(radius, count);
  // Relative to the first, each follows from the one before: binomial(count, (count - j) / 2), of
  // which that at j = 0 counts once and the others for either side.
  constexpr double negligible = 1e-100;
  std::vector<double>& power = result.power;
  double value = 1;
  double sum = 0;
  for (std::int64_t j = 0; j <= count && value > negligible; j += 2) {
    power.push_back(j == 0 ? value / 2 : value);
    sum += power.back();
    value *= static_cast<double>((count - j) / 2) / static_cast<double>((count + j) / 2 + 1);
  }
  for (double& coefficient : power) coefficient *= result.damping / sum;

  // With x = radius z, (1 - x^2) G = 1 - P in the T_j(z), of which z^2 T_j is (T_{j+2} + 2 T_j +
  // T_{j-2}) / 4: each coefficient of G follows from the two behind it. Their differences only
  // grow.
  const double square = radius * radius;
  const double loss = 4 * (1 - radius) * (1 + radius) / square;
  std::vector<double>& growth = result.growth;
  growth.assign(power.size() + 1, 0);
  double difference = 0;
  for (std::size_t i = power.size() - 1; i > 0; --i) {
    difference += loss * growth[i] + 4 / square * power[i];
    growth[i - 1] = growth[i] + difference;
  }
  growth[0] /= 2;

  // Where G ends, two coefficients of P are others, so that it stays what G belongs to.
  std::size_t last = power.size() - 1;
  double beyond = 0;  // of P
  while (last > 1) {
    const double more = beyond + power[last];
    const double left_out = more + square / 4 * (growth[last - 1] + growth[last]);
    if (left_out > tail) break;
    beyond = more;
    result.left_out = left_out;
    --last;
  }
  power.resize(last + 2);
  power[last] -= square / 4 * growth[last + 1];
  power[last + 1] = square / 4 * growth[last];
  growth.resize(last + 1);
  return result;
}

}  // namespace wallheat
