#include "solve/padded_field.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::size_t alignment = 64;

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

PaddedLayout::PaddedLayout(GridShape shape)
    : shape_(shape), stride_(block_width + round_up(shape.cols, block_width)) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  if (shape.cols > most || shape.rows > most || size() > most) {
    throw InputError("the grid of " + std::to_string(shape.rows) + " x " +
                     std::to_string(shape.cols) + " cells is too large for the solver");
  }
}

void PaddedField::assign(const PaddedLayout& layout, const Grid<double>& grid) {
  if (layout.size() != capacity_) {
    cells_.reset();
    capacity_ = 0;
    cells_.reset(static_cast<double*>(
        std::aligned_alloc(alignment, round_up(layout.size() * sizeof(double), alignment))));
    if (!cells_) throw std::bad_alloc();
    capacity_ = layout.size();
  }
  std::fill_n(cells_.get(), capacity_, 0.0);
  for (std::size_t row = 0; row < grid.rows; ++row) {
    std::copy_n(&grid(row, 0), grid.cols, cells_.get() + layout.offset(row, 0));
  }
}

void PaddedField::copy_to(const PaddedLayout& layout, Grid<double>& grid) const {
  for (std::size_t row = 0; row < grid.rows; ++row) {
    std::copy_n(cells_.get() + layout.offset(row, 0), grid.cols, &grid(row, 0));
  }
}

void BlockList::assign(const PaddedLayout& layout, const Grid<std::uint8_t>& interior) {
  offsets_.clear();
  masks_.clear();
  stride_ = layout.stride();
  for (std::size_t row = 0; row < interior.rows; ++row) {
    for (std::size_t col = 0; col < interior.cols; col += block_width) {
      unsigned mask = 0;
      const std::size_t width = std::min(block_width, interior.cols - col);
      for (std::size_t lane = 0; lane < width; ++lane) {
        if (interior(row, col + lane) != 0) mask |= 1U << lane;
      }
      if (mask == 0) continue;
      offsets_.push_back(static_cast<std::uint32_t>(layout.offset(row, col)));
      masks_.push_back(static_cast<std::uint8_t>(mask));
    }
  }
}

ActiveBlocks BlockList::view() const {
  return {offsets_.data(), masks_.data(), offsets_.size(), stride_};
}

}  // namespace wallheat
