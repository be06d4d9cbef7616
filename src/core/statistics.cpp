#include "wallheat/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include "core/interior_values.hpp"

namespace wallheat {
namespace {

// numpy/core/src/umath/loops_utils.h.src, function pairwise_sum: the order is what matters, since
// the last digit of the published answers depends on it.
double pairwise_sum(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 8) {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum;
  }
  if (n <= 128) {
    double r[8];
    for (std::size_t lane = 0; lane < 8; ++lane) r[lane] = values[lane];
    const std::size_t whole = n - n % 8;
    for (std::size_t i = 8; i < whole; i += 8) {
      for (std::size_t lane = 0; lane < 8; ++lane) r[lane] += values[i + lane];
    }
    double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (std::size_t i = whole; i < n; ++i) sum += values[i];
    return sum;
  }
  const std::size_t half = n / 2 - n / 2 % 8;
  return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

constexpr std::size_t buffer_size = 8192;  // of NumPy, in values

/// What numpy_sum returns of the squared deviations.
double sum_of_squared_deviations(std::span<const double> values, double mean) {
  std::vector<double> squares(std::min(buffer_size, values.size()));
  double sum = 0;
  while (!values.empty()) {
    const std::size_t count = std::min(buffer_size, values.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double deviation = values[i] - mean;
      squares[i] = deviation * deviation;
    }
    sum += pairwise_sum(std::span<const double>(squares).first(count));
    values = values.subspan(count);
  }
  return sum;
}

}  // namespace

double numpy_sum(std::span<const double> values) {
  double sum = 0;
  while (!values.empty()) {
    const auto stretch = values.first(std::min(buffer_size, values.size()));
    sum += pairwise_sum(stretch);
    values = values.subspan(stretch.size());
  }
  return sum;
}

std::vector<double> interior_values(const Grid<double>& field, const Grid<std::uint8_t>& interior) {
  // One more than there are, as the place of the next value is written to before it is known
  // whether that is one.
  std::vector<double> values(static_cast<std::size_t>(count_interior(interior)) + 1);
  double* next = values.data();
  const double* const from = field.cells.data();
  const std::uint8_t* const mask = interior.cells.data();
  const std::size_t cells = interior.cells.size();
  const auto take = [&](std::size_t cell) {
    *next = from[cell];
    next += mask[cell] != 0 ? 1 : 0;
  };
  // Most cells are like their neighbours: eight are looked at together.
  constexpr std::size_t some = 8;
  std::size_t cell = 0;
  for (; cell + some <= cells; cell += some) {
    std::uint64_t marks = 0;
    std::memcpy(&marks, mask + cell, some);
    if (marks == 0) continue;
    if (marks == 0x0101010101010101) {
      next = std::copy_n(from + cell, some, next);
    } else {
      for (std::size_t k = 0; k < some; ++k) take(cell + k);
    }
  }
  for (; cell < cells; ++cell) take(cell);
  values.pop_back();
  return values;
}

Statistics statistics(std::span<const double> values, const Thresholds& thresholds) {
  Statistics result;
  if (values.empty()) return result;
  const auto count = static_cast<double>(values.size());
  const auto share = [&](auto predicate) {
    return static_cast<double>(std::count_if(values.begin(), values.end(), predicate)) / count *
           100;
  };
  result.pct_above_18 = share([&](double value) { return value > thresholds.above; });
  result.pct_below_15 = share([&](double value) { return value < thresholds.below; });
  result.mean_temp = numpy_sum(values) / count;
  result.std_temp = std::sqrt(sum_of_squared_deviations(values, result.mean_temp) / count);
  return result;
}

Statistics statistics(const Grid<double>& field, const Grid<std::uint8_t>& interior,
                      const Thresholds& thresholds) {
  return statistics(interior_values(field, interior), thresholds);
}

Doubt count_doubt(std::span<const double> values, double radius, const Thresholds& thresholds) {
  const auto [above, below] = thresholds;
  // Farther from a threshold than that, a value is on the same side of it with the radius taken off
  // or added, however that is rounded: few stretches need more than two counts.
  const double near = 2 * radius;
  constexpr std::size_t stretch = 512;
  Doubt doubt;
  for (; !values.empty(); values = values.subspan(std::min(stretch, values.size()))) {
    const auto part = values.first(std::min(stretch, values.size()));
    const auto count = [&](auto predicate) {
      return std::count_if(part.begin(), part.end(), predicate);
    };
    const auto far = count([=](double value) {
      return (std::abs(value - above) > near) & (std::abs(value - below) > near);
    });
    if (far == std::ssize(part)) {
      const auto cells_above = count([=](double value) { return value > above; });
      const auto cells_below = count([=](double value) { return value < below; });
      doubt.above_least += cells_above;
      doubt.above_most += cells_above;
      doubt.below_least += cells_below;
      doubt.below_most += cells_below;
      continue;
    }
    doubt.above_least += count([=](double value) { return value - radius > above; });
    doubt.above_most += count([=](double value) { return value + radius > above; });
    doubt.below_least += count([=](double value) { return value + radius < below; });
    doubt.below_most += count([=](double value) { return value - radius < below; });
    doubt.cells += count([=](double value) {
      return std::min(std::abs(value - below), std::abs(value - above)) <= radius;
    });
  }
  return doubt;
}

}  // namespace wallheat
