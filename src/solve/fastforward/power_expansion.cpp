#include "solve/fastforward/power_expansion.hpp"

#include <cmath>

namespace wallheat {
namespace {

/// value (1 + rest), of which `rest` is what `value` has lost by rounding.
struct Precise {
  double value = 1;
  double rest = 0;
};

Precise product(const Precise& a, const Precise& b) {
  const double value = a.value * b.value;
  return {value, a.rest + b.rest + std::fma(a.value, b.value, -value) / value};
}

/// By squaring, which gives the same bits everywhere. Without the rests the result would be wrong
/// by up to `exponent` half-epsilons, and all slow modes of an iterate with it.
double power_of(double base, std::int64_t exponent) {
  Precise power;
  for (Precise square{base}; exponent > 0; exponent /= 2, square = product(square, square))
    if (exponent % 2 != 0) power = product(power, square);
  return power.value * (1 + power.rest);
}

}  // namespace

PowerExpansion power_expansion(std::int64_t count, double spectrum_scale, double tail) {
  PowerExpansion result;
  result.damping = 1 / power_of(spectrum_scale, count);
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

  // With x = z / stretch, (1 - x^2) G = 1 - P in the T_j(z), of which z^2 T_j is (T_{j+2} + 2 T_j +
  // T_{j-2}) / 4: each coefficient of G follows from the two behind it. Their differences only
  // grow.
  const double square = spectrum_scale * spectrum_scale;
  const double loss = 4 * (spectrum_scale - 1) * (spectrum_scale + 1);
  std::vector<double>& growth = result.growth;
  growth.assign(power.size() + 1, 0);
  double difference = 0;
  for (std::size_t i = power.size() - 1; i > 0; --i) {
    difference += loss * growth[i] + 4 * square * power[i];
    growth[i - 1] = growth[i] + difference;
  }
  growth[0] /= 2;

  // Where G ends, two coefficients of P are others, so that it stays what G belongs to.
  std::size_t last = power.size() - 1;
  double beyond = 0;  // of P
  while (last > 1) {
    const double more = beyond + power[last];
    const double left_out = more + (growth[last - 1] + growth[last]) / (4 * square);
    if (left_out > tail) break;
    beyond = more;
    result.truncation_error = left_out;
    --last;
  }
  power.resize(last + 2);
  power[last] -= growth[last + 1] / (4 * square);
  power[last + 1] = growth[last] / (4 * square);
  growth.resize(last + 1);
  return result;
}

}  // namespace wallheat
