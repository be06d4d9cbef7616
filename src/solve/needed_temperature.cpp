#include "solve/needed_temperature.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/larger.hpp"

namespace wallheat {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// How much warmer a wall must be that is to add `lacking`.
double warmer_by(double lacking, double per_degree) {
  if (!(per_degree <= 0) || std::isnan(lacking)) return lacking / per_degree;  // NaN stays NaN
  return lacking > 0 ? infinite : -infinite;
}

}  // namespace

NeededTemperature needed_temperature(const LinearInWall& value, double target) {
  const double lacking = target - value.now;
  // By the maximum principle a warmer wall makes nothing colder.
  const double gentlest = larger(value.per_degree - value.per_degree_bound, 0);
  const double steepest = value.per_degree + value.per_degree_bound;
  // Difference, bound, divisor, quotient and sum are rounded.
  constexpr double roundings = 4;
  const auto wall = [&](double lack, double per_degree, double widen) {
    const double warmer = warmer_by(lack, per_degree);
    if (std::isinf(warmer)) return warmer;
    const double size = std::abs(value.from) + std::abs(warmer) +
                        (std::abs(target) + std::abs(value.now)) / per_degree;
    return value.from + warmer + widen * roundings * std::numeric_limits<double>::epsilon() * size;
  };
  const double lowest = lacking - value.now_bound;
  const double highest = lacking + value.now_bound;
  return {wall(lacking, larger(value.per_degree, 0), 0),
          wall(lowest, lowest > 0 ? steepest : gentlest, -1),
          wall(highest, highest > 0 ? gentlest : steepest, 1)};
}

NeededTemperature needed_for_count(std::span<const NeededTemperature> each, std::size_t count) {
  std::vector<double> values(each.size());
  const auto lowest = [&](double NeededTemperature::*part) {
    std::transform(each.begin(), each.end(), values.begin(),
                   [&](const NeededTemperature& needed) { return needed.*part; });
    // If one is not a number, they have no order.
    if (std::any_of(values.begin(), values.end(), [](double one) { return std::isnan(one); }))
      return std::numeric_limits<double>::quiet_NaN();
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(values.begin(), place, values.end());
    return *place;
  };
  return {lowest(&NeededTemperature::value), lowest(&NeededTemperature::least),
          lowest(&NeededTemperature::most)};
}

std::size_t count_of_share(double share, std::size_t of) {
  // 0.07 of 100 is 7, although the product is a little more.
  constexpr double rounding = 1e-9;
  const double count = std::ceil(share * static_cast<double>(of) - rounding);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(count, 1.0)), 1, of);
}

}  // namespace wallheat
