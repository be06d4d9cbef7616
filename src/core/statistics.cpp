#include "wallheat/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

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

}  // namespace

double numpy_sum(std::span<const double> values) {
  constexpr std::size_t buffer_size = 8192;
  double sum = 0;
  while (!values.empty()) {
    const auto stretch = values.first(std::min(buffer_size, values.size()));
    sum += pairwise_sum(stretch);
    values = values.subspan(stretch.size());
  }
  return sum;
}

Statistics statistics(const Grid<double>& field, const Grid<std::uint8_t>& interior,
                      const Thresholds& thresholds) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(std::count_if(
      interior.cells.begin(), interior.cells.end(), [](auto cell) { return cell != 0; })));
  for (std::size_t i = 0; i < field.cells.size(); ++i) {
    if (interior.cells[i] != 0) values.push_back(field.cells[i]);
  }
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
  for (double& value : values) {
    value -= result.mean_temp;
    value *= value;
  }
  result.std_temp = std::sqrt(numpy_sum(values) / count);
  return result;
}

}  // namespace wallheat
