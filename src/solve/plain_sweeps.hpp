#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// How a program computes an iterate from the one before. The defaults are those of the reference.
struct SweepVariant {
  enum class Neighbour { left, right, up, down };
  using enum Neighbour;

  bool is_single_precision = false;  ///< the field is stored and computed as float
  bool is_in_place = false;  ///< one buffer, row by row (Gauss-Seidel), so a cell reads new values
  bool adds_pairs = false;   ///< (first + second) + (third + fourth), not ((f + s) + t) + fourth
  std::array<Neighbour, 4> order{left, right, up, down};
  /// The second buffer starts as zeros, so the fixed cells are 0 in every other iterate.
  bool is_second_buffer_zero = false;
  /// The loops end one ring early: the last row and the last column of the grid are not updated.
  bool is_grid_cut = false;
};

/// Sizes of the changes that a sweep makes in the cells that it updates.
struct SweepChange {
  double max = 0;  ///< °C, the largest change of a cell
  double l2 = 0;   ///< °C, 2-norm of the changes of all cells
};

/// The iterates of a plan without a heat source, made by plain loops that follow a program sweep by
/// sweep, mistakes included. The default variant gives the bits of the reference.
class PlainSweeps {
 public:
  virtual ~PlainSweeps() = default;
  /// Makes the next iterate.
  virtual SweepChange sweep() = 0;
  /// Returns a copy, from which the same iterates follow.
  [[nodiscard]] virtual std::unique_ptr<PlainSweeps> copy() const = 0;
  /// Writes the current iterate into a grid of the plan's shape, in °C.
  virtual void store(Grid<double>& field) const = 0;
};
[[nodiscard]] std::unique_ptr<PlainSweeps> make_plain_sweeps(const FloorPlan& plan,
                                                             const SweepVariant& variant);

}  // namespace wallheat
