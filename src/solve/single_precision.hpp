#pragma once

#include <cstddef>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// The iterates of a plan without a source that a program has whose field is in single precision.
/// They are not the double ones rounded: small changes are lost, so it stops elsewhere.
class SinglePrecisionJacobi {
 public:
  explicit SinglePrecisionJacobi(const FloorPlan& plan);
  /// Makes an iteration, adding left, right, up and down; returns its largest change in °C.
  float sweep();
  /// The interior cells in row-major order, in °C.
  [[nodiscard]] std::vector<float> values() const;

 private:
  struct Run {
    std::size_t first, last;  ///< interior cells of a row, by their indices; the last one beyond
  };
  std::size_t width_;
  std::vector<float> field_, next_;  ///< in a ring of zeros
  std::vector<Run> runs_;
};

}  // namespace wallheat
