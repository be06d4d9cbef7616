#include "solve/padded_field.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::size_t page_bytes = 4096;

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

PaddedLayout::PaddedLayout(GridShape shape)
    : shape_(shape), stride_(block_width + round_up(shape.cols, block_width)) {
  constexpr std::size_t page = page_bytes / sizeof(double);
  constexpr std::size_t margin = page / 8;
  while (stride_ > page / 2 && (stride_ % page < margin || stride_ % page > page - margin))
    stride_ += block_width;
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
    cells_.reset(static_cast<double*>(std::aligned_alloc(
        page_bytes, round_up((shift_ + layout.size()) * sizeof(double), page_bytes))));
    if (!cells_) throw std::bad_alloc();
    capacity_ = layout.size();
  }
  std::fill_n(data(), capacity_, 0.0);
  for (std::size_t row = 0; row < grid.rows; ++row) {
    std::copy_n(&grid(row, 0), grid.cols, data() + layout.offset(row, 0));
  }
}

void PaddedField::copy_to(const PaddedLayout& layout, Grid<double>& grid) const {
  for (std::size_t row = 0; row < grid.rows; ++row) {
    std::copy_n(data() + layout.offset(row, 0), grid.cols, &grid(row, 0));
  }
}

void SegmentList::assign(const PaddedLayout& layout, const Grid<std::uint8_t>& interior) {
  constexpr unsigned all_cells = 0xff;
  segments_.clear();
  begin_.assign(1, 0);
  stride_ = layout.stride();
  blocks_ = 0;
  for (std::size_t row = 0; row < interior.rows; ++row) {
    bool open = false;  // the last segment ends just here and may be continued
    for (std::size_t col = 0; col < interior.cols; col += block_width) {
      unsigned mask = 0;
      const std::size_t width = std::min(block_width, interior.cols - col);
      for (std::size_t lane = 0; lane < width; ++lane) {
        if (interior(row, col + lane) != 0) mask |= 1U << lane;
      }
      blocks_ += mask != 0 ? 1 : 0;
      if (mask == all_cells && open &&
          segments_.back().full < std::numeric_limits<std::uint16_t>::max()) {
        ++segments_.back().full;
      } else if (mask != 0 && open) {
        segments_.back().last = static_cast<std::uint8_t>(mask);
        open = false;
      } else if (mask != 0) {
        segments_.push_back({static_cast<std::uint32_t>(layout.offset(row, col)), 0,
                             static_cast<std::uint8_t>(mask), 0});
        open = true;
      } else {
        open = false;
      }
    }
    begin_.push_back(static_cast<std::uint32_t>(segments_.size()));
  }
}

ActiveRows SegmentList::view() const {
  return {segments_.data(), begin_.data(), begin_.size() - 1, stride_};
}

std::size_t SegmentList::mean_row_bytes() const {
  std::size_t rows = 0;
  for (std::size_t row = 0; row + 1 < begin_.size(); ++row)
    rows += begin_[row] != begin_[row + 1] ? 1 : 0;
  return rows == 0 ? 0 : blocks_ * block_width * sizeof(double) / rows;
}

}  // namespace wallheat
