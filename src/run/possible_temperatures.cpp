#include "run/possible_temperatures.hpp"

#include "solve/error_estimate.hpp"
#include "solve/source.hpp"

namespace wallheat {

TemperatureRange possible_temperatures(const FloorPlan& plan, const PlanResult& answer,
                                       const Limits& limits) {
  TemperatureRange range;
  const auto widen = [&](double value) {
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  };
  for (const double value : plan.domain.cells) widen(value);
  const std::size_t rows = plan.interior.rows;
  const std::size_t cols = plan.interior.cols;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t step = row == 0 || row + 1 == rows ? 1 : std::max<std::size_t>(cols - 1, 1);
    for (std::size_t col = 0; col < cols; col += step) {
      if (plan.interior(row, col) != 0) widen(0);
    }
  }
  if (plan.has_source()) {
    Grid<double> warming = source_terms(plan, limits);
    Grid<double> cooling = warming;
    for (double& term : warming.cells) term = std::max(term, 0.0);
    for (double& term : cooling.cells) term = std::min(term, 0.0);
    range.high += largest_made_by(warming);
    range.low -= largest_made_by(cooling);
  }
  // An update rounds four times, each time by at most half an epsilon of up to four values; the
  // mean adds one rounding a cell.
  const double rounding = std::numeric_limits<double>::epsilon() *
                          (4 * static_cast<double>(answer.iterations) +
                           static_cast<double>(plan.interior.cells.size())) *
                          range.largest();
  // Other solvers than jacobi are as far off as they say.
  const double error = std::isnan(answer.error_bound)
                           ? uncertainty_of_jumps * range.largest() *
                                 (answer.solver.starts_with("fastforward") ? 1 : 0)
                           : answer.error_bound;
  return {range.low - rounding - error, range.high + rounding + error};
}

}  // namespace wallheat
