#include "solve/fastforward/power_expansion.hpp"

#include <cmath>

namespace wallheat {
namespace {

/// The number value (1 + rest), where `rest` is the relative rounding error of `value`.
struct Precise {
  double value = 1;
  double rest = 0;
};

Precise product(const Precise& a, const Precise& b) {
  const double value = a.value * b.value;
  return {value, a.rest + b.rest + std::fma(a.value, b.value, -value) / value};
}

/// Returns base^exponent. Squares repeatedly, which gives the same bits on all platforms. Without
/// the rests, the relative error of the result, and of all slow modes of an iterate, would be up to
/// `exponent` half-epsilons.
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
  // The coefficients are proportional to binomial(count, (count - j) / 2), and are computed
  // relative to the first, each from the previous one. The coefficient of T_0 is half of this
  // value, because the others count for j and for -j.
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

  // With x = z / spectrum_scale, the equation (1 - x^2) G = 1 - P is solved in the T_j(z). As z^2
  // T_j = (T_{j+2} + 2 T_j + T_{j-2}) / 4, each coefficient of G follows from the next two. Their
  // differences only grow from the last coefficient to the first.
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

  // Omit as many coefficients as `tail` allows. Two coefficients of P change where G is cut off, so
  // that (1 - x^2) G = 1 - P still holds.
  std::size_t last = power.size() - 1;
  double beyond = 0;  // sum of the omitted coefficients of P
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
