#include "wallheat/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <vector>

#include "core/cell_statistics.hpp"

namespace wallheat {
namespace {

// Adds in the order of numpy/core/src/umath/loops_utils.h.src, function pairwise_sum. The order
// matters, because the last digit of the published results depends on it.
template <class Real>
Real pairwise_sum(std::span<const Real> values) {
  const std::size_t n = values.size();
  if (n < 8) {
    Real sum = 0;
    for (const Real value : values) sum += value;
    return sum;
  }
  if (n <= 128) {
    Real r[8];
    for (std::size_t lane = 0; lane < 8; ++lane) r[lane] = values[lane];
    const std::size_t whole = n - n % 8;
    for (std::size_t i = 8; i < whole; i += 8) {
      for (std::size_t lane = 0; lane < 8; ++lane) r[lane] += values[i + lane];
    }
    Real sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (std::size_t i = whole; i < n; ++i) sum += values[i];
    return sum;
  }
  const std::size_t half = n / 2 - n / 2 % 8;
  return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

constexpr std::size_t buffer_size = 8192;  // of NumPy, in values

/// Removes and returns the first values, as many as fill the buffer.
template <class Real>
std::span<const Real> take_stretch(std::span<const Real>& values) {
  const auto stretch = values.first(std::min(buffer_size, values.size()));
  values = values.subspan(stretch.size());
  return stretch;
}

/// Returns the sum of the squared deviations in the order of numpy_sum().
template <class Real>
Real sum_of_squared_deviations(std::span<const Real> values, Real mean) {
  std::vector<Real> squares(std::min(buffer_size, values.size()));
  Real sum = 0;
  while (!values.empty()) {
    const auto stretch = take_stretch(values);
    for (std::size_t i = 0; i < stretch.size(); ++i) {
      const Real deviation = stretch[i] - mean;
      squares[i] = deviation * deviation;
    }
    sum += pairwise_sum(std::span<const Real>(squares).first(stretch.size()));
  }
  return sum;
}

template <class Predicate>
std::int64_t count(std::span<const double> values, Predicate predicate) {
  return std::count_if(values.begin(), values.end(), predicate);
}

/// Adds the counts of some values.
void add_uncertain_counts(std::span<const double> values, const Thresholds& thresholds,
                          double radius, UncertainCounts& uncertain) {
  const auto [above, below] = thresholds;
  const auto distance = [=](double value) {
    return std::min(std::abs(value - below), std::abs(value - above));
  };
  // A NaN may be above or below every threshold.
  uncertain.min_above += count(values, [=](double value) { return value - radius > above; });
  uncertain.max_above += count(values, [=](double value) { return !(value + radius <= above); });
  uncertain.min_below += count(values, [=](double value) { return value + radius < below; });
  uncertain.max_below += count(values, [=](double value) { return !(value - radius >= below); });
  uncertain.cells += count(values, [=](double value) { return !(distance(value) > radius); });
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return nan_value;
  for (const double value : values)
    if (std::isnan(value)) return nan_value;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

double numpy_sum(std::span<const double> values) {
  double sum = 0;
  while (!values.empty()) sum += pairwise_sum(take_stretch(values));
  return sum;
}

std::vector<double> interior_values(const Grid<double>& field, const Grid<std::uint8_t>& interior) {
  // One element more than needed, because the next value is stored before it is known whether its
  // cell is interior.
  std::vector<double> values(static_cast<std::size_t>(count_interior(interior)) + 1);
  double* next = values.data();
  const double* const from = field.cells.data();
  const std::uint8_t* const mask = interior.cells.data();
  const std::size_t cells = interior.cells.size();
  const auto take = [&](std::size_t cell) {
    *next = from[cell];
    next += mask[cell] != 0 ? 1 : 0;
  };
  // Most cells are like their neighbours, so eight are tested at once.
  constexpr std::size_t some = 8;
  std::size_t cell = 0;
  for (; cell + some <= cells; cell += some) {
    std::uint64_t marks = 0;
    std::memcpy(&marks, mask + cell, some);
    if (marks == 0) continue;
    if (marks == 0x0101010101010101) {
      std::memcpy(next, from + cell, some * sizeof *next);
      next += some;
    } else {
      for (std::size_t k = 0; k < some; ++k) take(cell + k);
    }
  }
  for (; cell < cells; ++cell) take(cell);
  values.pop_back();
  return values;
}

CellSummary summarize_cells(std::span<const double> values, const Thresholds& thresholds,
                            double radius) {
  CellSummary summary;
  if (values.empty()) return summary;
  const auto [above, below] = thresholds;
  std::int64_t all_above = 0;
  std::int64_t all_below = 0;
  double sum = 0;
  for (auto rest = values; !rest.empty();) {  // a block remains in a cache
    const auto stretch = take_stretch(rest);
    sum += pairwise_sum(stretch);
    all_above += count(stretch, [=](double value) { return value > above; });
    all_below += count(stretch, [=](double value) { return value < below; });
    add_uncertain_counts(stretch, thresholds, radius, summary.uncertain);
  }
  const auto size = static_cast<double>(values.size());
  summary.statistics.pct_above = percent_of(all_above, std::ssize(values));
  summary.statistics.pct_below = percent_of(all_below, std::ssize(values));
  const double mean = summary.statistics.mean_temp = sum / size;
  summary.statistics.std_temp = std::sqrt(sum_of_squared_deviations(values, mean) / size);
  return summary;
}

Statistics single_precision_statistics(std::span<const float> values) {
  const auto size = static_cast<float>(values.size());
  float sum = 0;
  for (auto rest = values; !rest.empty();) sum += pairwise_sum(take_stretch(rest));
  const float mean = sum / size;
  const auto share = [&](auto predicate) {
    return percent_of(std::ranges::count_if(values, predicate), std::ssize(values));
  };
  const Thresholds defaults;
  return {mean, std::sqrt(sum_of_squared_deviations(values, mean) / size),
          share([&](float value) { return value > defaults.above; }),
          share([&](float value) { return value < defaults.below; })};
}

Statistics statistics(const Grid<double>& field, const Grid<std::uint8_t>& interior,
                      const Thresholds& thresholds) {
  return summarize_cells(interior_values(field, interior), thresholds).statistics;
}

}  // namespace wallheat
