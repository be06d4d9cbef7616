#include "solve/steady/multigrid.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace wallheat {
namespace {

constexpr std::size_t width = strip_width;

/// The arrays that a level has; the first has two colours.
std::vector<float**> arrays_of(Level& level, bool is_finest) {
  std::vector<float**> arrays{&level.inverse[0], &level.right, &level.x};
  if (is_finest) {
    arrays.insert(arrays.end(), {&level.inverse[1], &level.black, &level.direction});
  } else {
    arrays.insert(arrays.end(),
                  {&level.work, &level.east, &level.south, &level.south_east, &level.south_west});
    for (float*& weights : level.weights) arrays.push_back(&weights);
  }
  return arrays;
}

std::size_t cell(const Level& level, std::size_t row, std::size_t col) {
  return (row + 1) * static_cast<std::size_t>(level.stride) + width + col;
}

}  // namespace

void Multigrid::add_level(std::size_t rows, std::size_t cols) {
  const bool is_finest = levels_.empty();
  Level& level = levels_.emplace_back();
  Memory& memory = memory_.emplace_back();
  constexpr std::size_t line = 16;  // values
  const std::size_t stored = is_finest ? (cols + 1) / 2 : cols;
  const std::size_t stride = (stored + line - 1) / line * line + line;
  level.rows = static_cast<std::ptrdiff_t>(rows);
  level.cols = static_cast<std::ptrdiff_t>(cols);
  level.stride = static_cast<std::ptrdiff_t>(stride);
  // After the last row as much as a loop over a coarser strip may read beyond its end.
  memory.size = (rows + 2) * stride + 4 * line;
  const auto arrays = arrays_of(level, is_finest);
  memory.arrays = ZeroedArray<float>(arrays.size() * memory.size);
  for (std::size_t k = 0; k < arrays.size(); ++k)
    *arrays[k] = memory.arrays.data() + k * memory.size;
}

void Multigrid::clear(std::size_t number) {
  for (float** array : arrays_of(levels_[number], number == 0))
    for (const Strip& strip : memory_[number].strips)
      std::fill_n(*array + strip.cell, strip.cells, 0.0F);
  memory_[number].strips.clear();
}

void Multigrid::add_block(std::size_t number, std::size_t row, std::size_t col) {
  std::vector<Strip>& strips = memory_[number].strips;
  const auto first = static_cast<std::ptrdiff_t>(cell(levels_[number], row, col));
  if (!strips.empty() && strips.back().cell + strips.back().cells == first)
    strips.back().cells += strip_width;
  else
    strips.push_back(
        {first, static_cast<std::ptrdiff_t>(row), static_cast<std::ptrdiff_t>(col), strip_width});
}

/// The active cells of the finest grid.
void Multigrid::find_active(const Grid<std::uint8_t>& interior) {
  const Level& level = levels_.front();
  using Block = std::array<std::uint8_t, 2 * width>;
  for (std::size_t row = 0; row < interior.rows; ++row) {
    for (std::size_t col = 0; col < interior.cols; col += Block().size()) {
      Block mask{};
      std::memcpy(mask.data(), &interior(row, col), std::min(mask.size(), interior.cols - col));
      if (mask == Block{}) continue;
      add_block(0, row, col / 2);
      float* const even = level.inverse[row % 2] + cell(level, row, col / 2);
      float* const odd = level.inverse[1 - row % 2] + cell(level, row, col / 2);
      for (std::size_t k = 0; k < width; ++k) even[k] = mask[2 * k] != 0 ? 0.25F : 0.0F;
      for (std::size_t k = 0; k < width; ++k) odd[k] = mask[2 * k + 1] != 0 ? 0.25F : 0.0F;
    }
  }
}

/// Those of a coarse grid: active if the finer grid's cell at the same place is. Sets `inverse`
/// to that one's.
void Multigrid::find_active(std::size_t number) {
  const Level& fine = levels_[number - 1];
  const Level& level = levels_[number];
  const std::size_t step = number == 1 ? 1 : 2;
  for (std::size_t row = 0; row < static_cast<std::size_t>(level.rows); ++row) {
    const float* const from = fine.inverse[0] + cell(fine, 2 * row + 1, step - 1);
    for (std::size_t col = 0; col < static_cast<std::size_t>(level.cols); col += width) {
      std::array<float, width> inverse{};
      for (std::size_t k = 0; k < width; ++k) inverse[k] = from[step * (col + k)];
      if (inverse == std::array<float, width>{}) continue;
      add_block(number, row, col);
      std::copy(inverse.begin(), inverse.end(), level.inverse[0] + cell(level, row, col));
    }
  }
}

void Multigrid::find_touched() {
  const Level& level = levels_.front();
  const std::ptrdiff_t stored = (level.cols + 1) / 2;
  struct Columns {
    std::ptrdiff_t begin, end;
  };
  // Number 0 is the row above the grid.
  std::vector<Columns> columns(static_cast<std::size_t>(level.rows) + 2, {stored, 0});
  for (const Strip& strip : memory_.front().strips) {
    Columns* const near = &columns[static_cast<std::size_t>(strip.row)];
    std::for_each(near, near + 3, [&](Columns& row) {
      row.begin = std::min(row.begin, std::max<std::ptrdiff_t>(strip.col - 1, 0));
      row.end = std::max(row.end, std::min(strip.col + strip.cells + 1, stored));
    });
  }
  touched_.clear();
  for (std::size_t row = 0; row + 2 < columns.size(); ++row) {
    const auto [begin, end] = columns[row + 1];
    if (begin < end)
      touched_.push_back({static_cast<std::ptrdiff_t>(cell(level, row, 0)) + begin,
                          static_cast<std::ptrdiff_t>(row), begin, end - begin});
  }
}

void Multigrid::assign(const Grid<std::uint8_t>& interior) {
  if (const GridShape shape{interior.rows, interior.cols}; shape != shape_) {
    shape_ = {};
    levels_.clear();
    memory_.clear();  // first, so that the peak is not both
    add_level(shape.rows, shape.cols);
    for (GridShape half{shape.rows / 2, shape.cols / 2}; half.rows > 0 && half.cols > 0;
         half = {half.rows / 2, half.cols / 2}) {
      add_level(half.rows, half.cols);
      if (half.rows < 4 || half.cols < 4) break;
    }
    shape_ = shape;
  }
  depth_ = 0;
  for (std::size_t number = 0; number < levels_.size(); ++number) {
    clear(number);
    number == 0 ? find_active(interior) : find_active(number);
    const std::vector<Strip>& strips = memory_[number].strips;
    levels_[number].begin = strips.data();
    levels_[number].end = strips.data() + strips.size();
    if (number > 0 && strips.empty()) break;
    if (number > 0) kernels_.coarsen(levels_[number - 1], levels_[number]);
    depth_ = number + 1;
  }
  find_touched();
}

}  // namespace wallheat
