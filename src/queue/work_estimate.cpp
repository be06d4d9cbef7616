#include "queue/work_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace wallheat {
namespace {

/// Distances along columns. 16 bits suffice: beyond their range D is that range.
using Steps = std::uint16_t;
constexpr Steps most_steps = std::numeric_limits<Steps>::max();

/// For each cell the distance to the nearest cell of its column that is not interior, rows bottom
/// to top: what lies below a row is known when the row is complete.
class ColumnDistances {
 public:
  explicit ColumnDistances(const Grid<std::uint8_t>& interior)
      : steps_(interior.rows, interior.cols) {
    const std::vector<Steps> outside(interior.cols, 0);
    const Steps* above = outside.data();
    for (std::size_t row = 0; row < interior.rows; ++row) {
      Steps* here = &steps_(row, 0);
      const std::uint8_t* mask = &interior(row, 0);
      for (std::size_t col = 0; col < interior.cols; ++col)
        here[col] = mask[col] != 0 ? next(above[col]) : Steps{0};
      above = here;
    }
    const Steps* below = outside.data();
    for (std::size_t row = interior.rows; row-- > 0;) {
      Steps* here = &steps_(row, 0);
      for (std::size_t col = 0; col < interior.cols; ++col)
        here[col] = std::min(here[col], next(below[col]));
      below = here;
    }
  }

  [[nodiscard]] std::span<const Steps> row(std::size_t row) const {
    return {&steps_(row, 0), steps_.cols};
  }

 private:
  static Steps next(Steps steps) {
    return static_cast<Steps>(std::min<Steps>(steps, most_steps - 1) + 1);
  }

  Grid<Steps> steps_;
};

/// The largest squared distance to a cell that is not interior within one run of interior cells of
/// a row, bounded by one such cell on either side: the lower envelope of the parabolas that stand
/// on the column distances (Felzenszwalb and Huttenlocher, Distance Transforms of Sampled
/// Functions, 2012).
class RunEnvelope {
 public:
  std::int64_t largest(std::span<const Steps> run) {
    const auto count = static_cast<std::int64_t>(run.size());
    // Place 0 and count + 1 are the bounding cells.
    const auto height = [&](std::int64_t place) {
      if (place == 0 || place == count + 1) return std::int64_t{0};
      const std::int64_t steps = run[static_cast<std::size_t>(place - 1)];
      return steps * steps;
    };
    feet_.clear();
    for (std::int64_t place = 0; place <= count + 1; ++place) {
      const auto is_hidden = [&] {
        const Foot& last = feet_.back();
        return feet_.size() > 1 &&
               last.from >= crossing(last.place, last.height, place, height(place));
      };
      while (!feet_.empty() && is_hidden()) feet_.pop_back();
      const std::int64_t from =
          feet_.empty() ? 0
                        : crossing(feet_.back().place, feet_.back().height, place, height(place));
      feet_.push_back({place, height(place), from});
    }
    std::int64_t most = 0;
    for (std::size_t foot = 0, place = 1; place <= run.size(); ++place) {
      const auto at = static_cast<std::int64_t>(place);
      while (foot + 1 < feet_.size() && feet_[foot + 1].from <= at) ++foot;
      const std::int64_t along = at - feet_[foot].place;
      most = std::max(most, along * along + feet_[foot].height);
    }
    return most;
  }

 private:
  struct Foot {
    std::int64_t place;
    std::int64_t height;
    std::int64_t from;  ///< the first place where this parabola is lowest
  };

  /// The first place where the parabola on b, to the right of a, is not above the one on a.
  static std::int64_t crossing(std::int64_t a, std::int64_t height_a, std::int64_t b,
                               std::int64_t height_b) {
    const std::int64_t numerator = height_b - height_a + b * b - a * a;
    const std::int64_t denominator = 2 * (b - a);
    if (numerator <= 0) return 0;
    return (numerator + denominator - 1) / denominator;
  }

  std::vector<Foot> feet_;
};

}  // namespace

std::int64_t widest_room_squared(const Grid<std::uint8_t>& interior) {
  if (interior.cells.empty()) return 0;
  const ColumnDistances distances(interior);
  RunEnvelope envelope;
  std::int64_t widest = 0;
  const auto can_be_wider = [&](std::int64_t distance) { return distance * distance > widest; };
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const auto steps = distances.row(row);
    if (!can_be_wider(*std::max_element(steps.begin(), steps.end()))) continue;
    for (auto cell = steps.begin(); cell != steps.end();) {
      const auto first = std::find_if(cell, steps.end(), [](Steps s) { return s != 0; });
      const auto last = std::find(first, steps.end(), Steps{0});
      const std::span run(first, last);
      // No cell is farther from the run's nearer end than half of it, nor from what lies above or
      // below: most runs need no envelope.
      if (can_be_wider((static_cast<std::int64_t>(run.size()) + 1) / 2) &&
          can_be_wider(*std::max_element(first, last))) {
        widest = std::max(widest, envelope.largest(run));
      }
      cell = last;
    }
  }
  return widest;
}

WorkEstimate estimate_work(const Grid<std::uint8_t>& interior, const Limits& limits,
                           SolverKind solver) {
  constexpr double shape_factor = 3.85;
  constexpr double temperature = 20;  // °C
  WorkEstimate estimate;
  estimate.interior_cells = static_cast<std::int64_t>(interior.cells.size()) -
                            std::count(interior.cells.begin(), interior.cells.end(), 0);
  if (estimate.interior_cells == 0) return estimate;
  if (solver == SolverKind::steady) {
    constexpr std::int64_t usual_iterations = 10;
    constexpr double updates_per_cell = 450;
    estimate.iterations = std::min(usual_iterations, limits.max_iterations);
    estimate.updates = updates_per_cell * static_cast<double>(estimate.interior_cells);
    return estimate;
  }
  // In a room so wide that it is still cold in the middle at the end, the largest change falls as
  // 1 / n however wide it is: there the logarithm is held at 1.
  const double loss =
      std::max(shape_factor / static_cast<double>(widest_room_squared(interior)) / 4,
               std::numbers::e * limits.tolerance / temperature);
  const double needed =
      loss < 1 ? std::log(temperature * loss / limits.tolerance) / -std::log1p(-loss) : 1;
  const auto most = static_cast<double>(limits.max_iterations);
  // A tolerance of 0 is never reached: the logarithm is infinite, and the limit counts.
  estimate.iterations = static_cast<std::int64_t>(std::clamp(needed, std::min(1.0, most), most));
  const auto iterations = static_cast<double>(estimate.iterations);
  constexpr double first_jump = 1000;
  constexpr double sweeps_per_root = 7.2;
  const double sweeps = solver == SolverKind::fastforward && iterations >= first_jump
                            ? sweeps_per_root * std::sqrt(iterations)
                            : iterations;
  estimate.updates = static_cast<double>(estimate.interior_cells) * sweeps;
  return estimate;
}

}  // namespace wallheat
