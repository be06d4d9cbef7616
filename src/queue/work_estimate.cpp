#include "queue/work_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "core/cell_statistics.hpp"

namespace wallheat {
namespace {

/// The squared distance from a cell of a run of interior cells of a row, bounded by a cell that is
/// not interior on either side, to the nearest such cell; any smaller number if it is `enough` or
/// less.
std::int64_t nearest_squared(std::span<const std::uint16_t> run, std::ptrdiff_t at,
                             std::int64_t enough) {
  const auto squared_steps = [&](std::ptrdiff_t i) {
    if (i < 0 || i >= std::ssize(run)) return std::int64_t{0};
    const std::int64_t steps = run[static_cast<std::size_t>(i)];
    return steps * steps;
  };
  std::int64_t nearest = squared_steps(at);
  for (std::ptrdiff_t along = 1; along * along < nearest && nearest > enough; ++along) {
    const std::int64_t beside = std::min(squared_steps(at - along), squared_steps(at + along));
    nearest = std::min(nearest, along * along + beside);
  }
  return nearest;
}

}  // namespace

std::int64_t max_wall_distance_squared(const Grid<std::uint8_t>& interior) {
  if (interior.cells.empty()) return 0;
  // 16 bits suffice: beyond their range D is that range.
  constexpr auto max_steps = std::numeric_limits<std::uint16_t>::max();
  const Grid<std::uint16_t> distances = column_distances(interior, max_steps);
  std::int64_t widest = 0;  // the square of `reach`, the largest distance so far, or more
  std::ptrdiff_t reach = 0;
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::span steps(&distances(row, 0), distances.cols);
    for (auto end = steps.begin(); end != steps.end();) {
      const auto first = std::find_if(end, steps.end(), [](std::uint16_t s) { return s != 0; });
      end = std::find(first, steps.end(), std::uint16_t{0});
      // What is as close to an end of its run as the reach is no wider: few cells are looked at.
      for (std::ptrdiff_t at = reach; at < (end - first) - reach; ++at) {
        const auto nearest = nearest_squared({first, end}, at, widest);
        if (nearest <= widest) continue;
        widest = nearest;
        while ((reach + 1) * (reach + 1) <= widest) ++reach;
      }
    }
  }
  return widest;
}

WorkEstimate estimate_work(const Grid<std::uint8_t>& interior, const SolveParameters& limits,
                           SolverKind solver) {
  constexpr double shape_factor = 3.85;
  constexpr double temperature = 20;  // °C
  WorkEstimate estimate;
  estimate.interior_cells = count_interior(interior);
  if (estimate.interior_cells == 0) return estimate;
  // In a room so wide that it is still cold in the middle at the end, the largest change falls as
  // 1 / n however wide it is: there the logarithm is held at 1.
  const double loss =
      std::max(shape_factor / static_cast<double>(max_wall_distance_squared(interior)) / 4,
               std::numbers::e * limits.tolerance / temperature);
  const double needed =
      loss < 1 ? std::log(temperature * loss / limits.tolerance) / -std::log1p(-loss) : 1;
  const auto most = static_cast<double>(limits.max_iterations);
  // A tolerance of 0 is never reached: the logarithm is infinite, and the limit counts.
  estimate.iterations = static_cast<std::int64_t>(std::clamp(needed, std::min(1.0, most), most));
  const auto iterations = static_cast<double>(estimate.iterations);
  constexpr double first_jump = 1000;
  constexpr double sweeps_per_root = 9.4;
  const double sweeps = solver == SolverKind::fastforward && iterations >= first_jump
                            ? sweeps_per_root * std::sqrt(iterations)
                            : iterations;
  estimate.updates = static_cast<double>(estimate.interior_cells) * sweeps;
  return estimate;
}

WorkEstimate estimate_steady_work(std::int64_t interior_cells, const SolveParameters& limits) {
  constexpr std::int64_t usual_iterations = 10;
  constexpr double updates_per_cell = 300;
  if (interior_cells == 0) return {};
  return {interior_cells, std::min(usual_iterations, limits.max_iterations),
          updates_per_cell * static_cast<double>(interior_cells)};
}

}  // namespace wallheat
