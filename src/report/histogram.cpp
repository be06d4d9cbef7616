#include "report/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace wallheat {
namespace {

constexpr double most_bins = 20;

struct Range {
  double low = 0;
  double high = 0;
  [[nodiscard]] bool holds(double value) const { return value >= low && value <= high; }
};

Range usual_range(std::vector<double> numbers, double unit) {
  std::sort(numbers.begin(), numbers.end());
  const double lower = numbers[numbers.size() / 4];
  const double upper = numbers[numbers.size() - 1 - numbers.size() / 4];
  const double margin = 3 * std::max(upper - lower, unit);
  return {lower - margin, upper + margin};
}

/// How many bins of this width the range touches.
double bins_of(const Range& range, double width) {
  return std::floor(range.high / width) - std::floor(range.low / width) + 1;
}

double bin_width(const Range& range, double unit) {
  // Narrower bins would be lost in the last digits of their borders.
  const double least = 1e-14 * std::max(std::abs(range.low), std::abs(range.high));
  for (double power = unit;; power *= 10) {
    for (const double width : {power, 2 * power, 5 * power}) {
      if (width > least && bins_of(range, width) <= most_bins) return width;
    }
  }
}

}  // namespace

Histogram histogram_of(const std::vector<double>& values, double unit) {
  std::vector<double> numbers;
  std::copy_if(values.begin(), values.end(), std::back_inserter(numbers),
               [](double value) { return std::isfinite(value); });
  Histogram histogram;
  const Range usual = numbers.empty() ? Range{} : usual_range(numbers, unit);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || !usual.holds(values[i])) histogram.outliers.push_back(i);
  }
  std::erase_if(numbers, [&](double value) { return !usual.holds(value); });
  if (numbers.empty()) return histogram;

  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  const Range range{*low, *high};
  const double width = bin_width(range, unit);
  const double first = std::floor(range.low / width);
  const auto count = static_cast<std::size_t>(bins_of(range, width));
  for (std::size_t i = 0; i < count; ++i) {
    const double number = first + static_cast<double>(i);
    histogram.bins.push_back({number * width, (number + 1) * width, 0});
  }
  for (const double value : numbers)
    ++histogram.bins.at(static_cast<std::size_t>(std::floor(value / width) - first)).plans;
  return histogram;
}

Table table_of(const Histogram& histogram, const std::string& key, const std::string& name,
               int digits, const std::string& counted) {
  Table table{key,
              name,
              {{"from", "from", {Form::digits, digits, "°C"}},
               {"to", "to", {Form::digits, digits, "°C"}},
               {counted, counted},
               {"", " "}}};
  std::size_t highest = 1;
  for (const Histogram::Bin& bin : histogram.bins) highest = std::max(highest, bin.plans);
  for (const auto& [from, to, plans] : histogram.bins) {
    constexpr std::size_t width = 30;
    // Round up: a bin with a plan in it shows at least one mark.
    const std::size_t bar = (plans * width + highest - 1) / highest;
    table.rows.push_back({from, to, plans, std::string(bar, '#')});
  }
  return table;
}

}  // namespace wallheat
