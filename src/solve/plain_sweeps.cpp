#include "solve/plain_sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wallheat {
namespace {

/// Consecutive interior cells of a row.
struct CellRun {
  std::size_t first, last;  ///< indices of the first cell, and of the cell after the last one
};

template <class Float>
class Sweeps final : public PlainSweeps {
 public:
  Sweeps(const FloorPlan& plan, const SweepVariant& variant)
      : width_(plan.domain.cols + 2),
        is_in_place_(variant.is_in_place),
        adds_pairs_(variant.adds_pairs),
        field_(width_ * (plan.domain.rows + 2)) {
    const std::size_t cut = variant.is_grid_cut ? 1 : 0;
    next_ = field_;
    for (std::size_t row = 0; row < plan.domain.rows; ++row) {
      for (std::size_t col = 0; col < plan.domain.cols; ++col) {
        const std::size_t cell = (row + 1) * width_ + col + 1;
        field_[cell] = static_cast<Float>(plan.domain(row, col));
        if (row + cut >= plan.domain.rows || col + cut >= plan.domain.cols) continue;
        if (!variant.is_second_buffer_zero) next_[cell] = field_[cell];
        if (plan.interior(row, col) == 0) continue;
        if (runs_.empty() || runs_.back().last != cell) runs_.push_back({cell, cell});
        runs_.back().last = cell + 1;
      }
    }
    std::ranges::transform(variant.order, offsets_.begin(), [&](SweepVariant::Neighbour each) {
      using enum SweepVariant::Neighbour;
      const auto row = static_cast<std::ptrdiff_t>(width_);
      return each == left ? -1 : each == right ? 1 : each == up ? -row : row;
    });
  }

  SweepChange sweep() override {
    Norms norms;
    const Float* const old = field_.data();
    Float* const made = is_in_place_ ? field_.data() : next_.data();
    for (const auto [first, last] : runs_) {
      std::size_t cell = first;
      if (!is_in_place_)  // in place, each cell needs the new value of the previous one
        for (; cell + lanes <= last; cell += lanes) update<lanes>(old + cell, made + cell, norms);
      for (; cell < last; ++cell) update<1>(old + cell, made + cell, norms);
    }
    if (!is_in_place_) std::swap(field_, next_);
    double squares = 0;
    for (const Float sum : norms.squares) squares += static_cast<double>(sum);
    return {static_cast<double>(*std::ranges::max_element(norms.max)), std::sqrt(squares)};
  }
  std::unique_ptr<PlainSweeps> copy() const override { return std::make_unique<Sweeps>(*this); }
  void store(Grid<double>& field) const override {
    for (std::size_t row = 0; row < field.rows; ++row)
      std::copy_n(&field_[(row + 1) * width_ + 1], field.cols, &field(row, 0));
  }

 private:
  static constexpr std::size_t lanes = 8;  // independent, so the compiler can vectorise the loops
  struct Norms {
    std::array<Float, lanes> max{}, squares{};
  };
  template <std::size_t count>
  [[gnu::always_inline]] void update(const Float* old, Float* made, Norms& norms) const {
    const auto [first, second, third, fourth] = offsets_;
    std::array<Float, count> value;
    for (std::size_t i = 0; i < count; ++i) {
      const Float pair = old[i + first] + old[i + second];
      value[i] = Float(0.25) * (adds_pairs_ ? pair + (old[i + third] + old[i + fourth])
                                            : (pair + old[i + third]) + old[i + fourth]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Float change = std::abs(value[i] - old[i]);
      norms.max[i] = change > norms.max[i] ? change : norms.max[i];
      norms.squares[i] += change * change;
    }
    for (std::size_t i = 0; i < count; ++i) made[i] = value[i];
  }

  std::size_t width_;
  bool is_in_place_, adds_pairs_;
  std::array<std::ptrdiff_t, 4> offsets_{};
  std::vector<Float> field_, next_;  ///< with a border of zeros
  std::vector<CellRun> runs_;
};

}  // namespace

std::unique_ptr<PlainSweeps> make_plain_sweeps(const FloorPlan& plan, const SweepVariant& variant) {
  if (variant.is_single_precision) return std::make_unique<Sweeps<float>>(plan, variant);
  return std::make_unique<Sweeps<double>>(plan, variant);
}

}  // namespace wallheat
