#include "plans/work_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numbers>
#include <span>

#include "core/cell_statistics.hpp"

namespace wallheat {
namespace {

/// Returns the squared distance from a cell to the nearest cell that is not interior. `run` is a
/// maximal sequence of interior cells of one row, as their distances within their columns; `at` is
/// the index of the cell. If the result would be at most `known`, returns any number up to `known`.
std::int64_t nearest_squared(std::span<const std::uint16_t> run, std::ptrdiff_t at,
                             std::int64_t known) {
  const auto squared_steps = [&](std::ptrdiff_t i) {
    if (i < 0 || i >= std::ssize(run)) return std::int64_t{0};
    const std::int64_t steps = run[static_cast<std::size_t>(i)];
    return steps * steps;
  };
  std::int64_t nearest = squared_steps(at);
  for (std::ptrdiff_t along = 1; along * along < nearest && nearest > known; ++along) {
    const std::int64_t vertical = std::min(squared_steps(at - along), squared_steps(at + along));
    nearest = std::min(nearest, along * along + vertical);
  }
  return nearest;
}

}  // namespace

std::int64_t max_wall_distance_squared(const Grid<std::uint8_t>& interior) {
  if (interior.cells.empty()) return 0;
  // Distances within columns are limited to 16 bits. In a larger room D is that limit.
  constexpr auto max_steps = std::numeric_limits<std::uint16_t>::max();
  const Grid<std::uint16_t> distances = column_distances(interior, max_steps);
  std::int64_t widest = 0;   // largest squared distance so far
  std::ptrdiff_t reach = 0;  // its square root, rounded down
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::span steps(&distances(row, 0), distances.cols);
    for (auto end = steps.begin(); end != steps.end();) {
      const auto first = std::find_if(end, steps.end(), [](std::uint16_t s) { return s != 0; });
      end = std::find(first, steps.end(), std::uint16_t{0});
      // A cell that is at most `reach` cells from an end of its run cannot be farther from a wall,
      // so few cells are examined.
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
  // If a room is so wide that its centre is still cold when the iteration converges, delta
  // decreases as 1 / n, independently of the width. The lower limit of `loss` keeps the logarithm
  // at 1 there.
  const double loss =
      std::max(shape_factor / static_cast<double>(max_wall_distance_squared(interior)) / 4,
               std::numbers::e * limits.tolerance / temperature);
  const double needed =
      loss < 1 ? std::log(temperature * loss / limits.tolerance) / -std::log1p(-loss) : 1;
  const auto limit = static_cast<double>(limits.max_iterations);
  // A tolerance of 0 is never reached: the logarithm is infinite, and the result is the limit.
  estimate.iterations = static_cast<std::int64_t>(std::clamp(needed, std::min(1.0, limit), limit));
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

std::optional<WorkEstimate> estimate_plan(const PlanSource& source, const std::string& id,
                                          const SolveParameters& limits, SolverKind solver) {
  constexpr std::size_t max_cells = std::size_t{1} << 24;  // the mask and the distances take 64 MiB
  constexpr std::size_t max_counted = std::size_t{1} << 26;
  try {
    if (solver == SolverKind::steady)
      return estimate_steady_work(count_interior(source.interior(id, max_counted)), limits);
    return estimate_work(source.interior(id, max_cells), limits, solver);
  } catch (const std::exception&) {
    // The worker that is assigned the plan reports the error. A lack of memory must not end the
    // run, either.
    return std::nullopt;
  }
}

}  // namespace wallheat
