#pragma once

#include <cstddef>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Computes the iterates of a program that stores its field in single precision, for a plan without
/// a heat source. They are not the rounded iterates of double precision: small changes are lost, so
/// the iteration stops elsewhere.
class SinglePrecisionJacobi {
 public:
  explicit SinglePrecisionJacobi(const FloorPlan& plan);
  /// Makes one iteration, which adds the neighbours in the order left, right, up, down. Returns
  /// delta, the largest change in °C.
  float sweep();
  /// Returns the values of the interior cells in row-major order, in °C.
  [[nodiscard]] std::vector<float> values() const;

 private:
  /// Consecutive interior cells of a row: indices of the first one, and of the one after the last.
  struct Run {
    std::size_t first, last;
  };
  std::size_t width_;
  std::vector<float> field_, next_;  ///< with a border of zeros
  std::vector<Run> runs_;
};

}  // namespace wallheat
