#include "solve/single_precision.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace wallheat {

SinglePrecisionJacobi::SinglePrecisionJacobi(const FloorPlan& plan)
    : width_(plan.domain.cols + 2), field_(width_ * (plan.domain.rows + 2)) {
  for (std::size_t row = 0; row < plan.domain.rows; ++row) {
    bool is_inside = false;  // of a run
    for (std::size_t col = 0; col < plan.domain.cols; ++col) {
      const std::size_t cell = (row + 1) * width_ + col + 1;
      field_[cell] = static_cast<float>(plan.domain(row, col));
      const bool is_room = plan.interior(row, col) != 0;
      if (is_room && !is_inside) runs_.push_back({cell, cell});
      if (is_room) runs_.back().last = cell + 1;
      is_inside = is_room;
    }
  }
  next_ = field_;
}

float SinglePrecisionJacobi::sweep() {
  std::int32_t largest = 0;  // its bits, as the maximum of whole numbers is vectorised
  const float* const old = field_.data();
  float* const made = next_.data();
  for (const auto [first, last] : runs_) {
    for (std::size_t i = first; i < last; ++i) {
      made[i] = 0.25F * (((old[i - 1] + old[i + 1]) + old[i - width_]) + old[i + width_]);
      largest = std::max(largest, std::bit_cast<std::int32_t>(std::abs(made[i] - old[i])));
    }
  }
  std::swap(field_, next_);
  return std::bit_cast<float>(largest);
}

std::vector<float> SinglePrecisionJacobi::values() const {
  std::vector<float> values;
  for (const auto [first, last] : runs_)
    values.insert(values.end(), field_.data() + first, field_.data() + last);
  return values;
}

}  // namespace wallheat
