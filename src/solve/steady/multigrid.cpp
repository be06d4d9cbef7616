#include "solve/steady/multigrid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace wallheat {
namespace {

constexpr std::int64_t small_enough = 64;  // active cells: no coarser grid
constexpr std::int64_t most_inverted = 100;

bool is_coarsest(const Level& level) {
  return level.active <= small_enough || level.data.rows < 4 || level.data.cols < 4;
}

}  // namespace

void Strips::add_block(std::size_t cell, std::size_t row, std::size_t col) {
  if (!strips_.empty() && strips_.back().cell + strips_.back().cells == cell) {
    strips_.back().cells += strip_width;
  } else {
    strips_.push_back({cell, row, col, strip_width});
  }
}

void Arrays::begin(const GridShape& shape, const std::vector<float**>& places) {
  std::swap(strips_, last_);
  strips_.clear();
  if (shape == shape_) return;
  shape_ = {};
  last_.clear();
  constexpr std::size_t line = 16;  // values
  stride_ = (shape.cols + line - 1) / line * line + line;
  // After the last row as much as a loop over a coarser strip may read beyond its end.
  size_ = (shape.rows + 2) * stride_ + 4 * line;
  memory_ = {};  // first, so that the peak is not both
  memory_ = ZeroedArray<float>(places.size() * size_);
  count_ = 0;
  for (float** array : places) *array = memory_.data() + count_++ * size_;
  shape_ = shape;
}

void Arrays::end() {
  for_each_left([&](std::size_t cell, std::size_t cells) {
    for (std::size_t array = 0; array < count_; ++array)
      std::fill_n(memory_.data() + array * size_ + cell, cells, 0.0F);
  });
}

void Finest::assign(const Grid<std::uint8_t>& interior) {
  const std::size_t rows = interior.rows;
  const std::size_t cols = interior.cols;
  arrays.begin({rows, (cols + 1) / 2},
               {&data.inverse[0], &data.inverse[1], &right, &x, &direction, &black});
  data.rows = rows;
  data.cols = cols;
  data.stride = static_cast<std::ptrdiff_t>(arrays.stride());
  // Which blocks have active cells, with a margin around them.
  using Block = std::array<std::uint8_t, 2 * strip_width>;
  const std::size_t blocks = (cols + Block().size() - 1) / Block().size();
  const std::size_t row_of_blocks = blocks + 2;
  std::vector<std::uint8_t> has_active((rows + 2) * row_of_blocks);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t number = 0; number < blocks; ++number) {
      Block mask{};
      const std::size_t col = number * mask.size();
      if (col + mask.size() <= cols)
        std::memcpy(mask.data(), &interior(row, col), mask.size());
      else
        std::memcpy(mask.data(), &interior(row, col), cols - col);
      if (mask == Block{}) continue;
      has_active[(row + 1) * row_of_blocks + 1 + number] = 1;
      float* const even = data.inverse[row % 2] + arrays.cell(row, col / 2);
      float* const odd = data.inverse[1 - row % 2] + arrays.cell(row, col / 2);
      for (std::size_t k = 0; k < strip_width; ++k) even[k] = mask[2 * k] != 0 ? 0.25F : 0.0F;
      for (std::size_t k = 0; k < strip_width; ++k) odd[k] = mask[2 * k + 1] != 0 ? 0.25F : 0.0F;
      arrays.add_block(row, col / 2);
    }
  }
  arrays.end();
  data.begin = arrays.strips().begin();
  data.end = arrays.strips().end();
  halo.clear();
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t number = 0; number < blocks; ++number) {
      const std::uint8_t* const at = &has_active[(row + 1) * row_of_blocks + 1 + number];
      const std::size_t col = number * strip_width;
      if ((at[0] | at[-1] | at[1] | *(at - row_of_blocks) | at[row_of_blocks]) != 0)
        halo.add_block(arrays.cell(row, col), row, col);
    }
  }
}

void Level::assign(const GridShape& shape, const float* from, std::size_t row_step,
                   std::size_t step) {
  std::vector<float**> places{&data.inverse, &right,           &x,
                              &answer,       &data.diagonal,   &data.east,
                              &data.south,   &data.south_east, &data.south_west};
  for (float*& array : data.weights) places.push_back(&array);
  arrays.begin(shape, places);
  data.rows = shape.rows;
  data.cols = shape.cols;
  data.stride = static_cast<std::ptrdiff_t>(arrays.stride());
  active = 0;
  for (std::size_t row = 0; row < shape.rows; ++row, from += row_step) {
    for (std::size_t col = 0; col < shape.cols; col += strip_width) {
      std::array<float, strip_width> inverse{};
      for (std::size_t i = 0; i < strip_width; ++i) inverse[i] = from[step * (col + i)];
      const auto found =
          std::count_if(inverse.begin(), inverse.end(), [](float value) { return value > 0; });
      if (found == 0) continue;
      active += found;
      std::copy(inverse.begin(), inverse.end(), data.inverse + arrays.cell(row, col));
      arrays.add_block(row, col);
    }
  }
  arrays.end();
  data.begin = arrays.strips().begin();
  data.end = arrays.strips().end();
}

void Multigrid::assign(const Grid<std::uint8_t>& interior) {
  finest_.assign(interior);
  GridShape shape{interior.rows, interior.cols};
  for (depth_ = 0; depth_ == 0 || !is_coarsest(levels_[depth_ - 1]); ++depth_) {
    shape = {shape.rows / 2, shape.cols / 2};
    if (shape.rows == 0 || shape.cols == 0) break;
    if (levels_.size() == depth_) levels_.emplace_back();
    Level& coarse = levels_[depth_];
    if (depth_ == 0) {
      const Arrays& arrays = finest_.arrays;
      coarse.assign(shape, finest_.data.inverse[0] + arrays.cell(1, 0), 2 * arrays.stride(), 1);
      if (coarse.active == 0) break;
      kernels_.coarsen_finest(finest_.data, coarse.data);
    } else {
      const Level& fine = levels_[depth_ - 1];
      coarse.assign(shape, fine.data.inverse + fine.arrays.cell(1, 1), 2 * fine.arrays.stride(), 2);
      if (coarse.active == 0) break;
      kernels_.coarsen(fine.data, coarse.data);
    }
  }
  if (depth_ > 0) invert_coarsest(levels_[depth_ - 1]);
}

void Multigrid::cycle(double* columns) {
  const Finest& level = finest_;
  kernels_.spread(level.data, level.right, 0.25F, level.black);
  if (depth_ > 0) {
    const Level& coarse = levels_.front();
    kernels_.gather_red(level.data, level.black, level.x);
    kernels_.restrict_red(level.data, coarse.data, level.x, coarse.right, coarse.x);
    solve_coarse(0);
    kernels_.correct_red(level.data, coarse.data, coarse.answer, level.right, level.x);
    kernels_.spread(level.data, level.x, 1, level.black);
  }
  kernels_.relax_red(level.data, level.black, level.right, level.x, columns);
}

void Multigrid::solve_coarse(std::size_t number) {
  const Level& level = levels_[number];
  if (number + 1 == depth_) {
    solve_coarsest(level);
    return;
  }
  const Level& coarse = levels_[number + 1];
  kernels_.gather(level.data, level.x, level.answer);
  kernels_.restrict_residual(level.data, coarse.data, level.answer, coarse.right, coarse.x);
  solve_coarse(number + 1);
  kernels_.add_correction(level.data, coarse.data, coarse.answer, level.x);
  kernels_.relax(level.data, level.x, level.right, level.answer);
}

void Multigrid::solve_coarsest(const Level& level) {
  const std::size_t count = cells_.size();
  for (std::size_t i = 0; i < count; ++i) gathered_[i] = level.right[cells_[i]];
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::size_t j = 0; j < count; ++j) sum += inverse_[i * count + j] * gathered_[j];
    level.answer[cells_[i]] = sum;
  }
  if (count > 0) return;
  for (int repeat = 0; repeat < 4; ++repeat) {
    kernels_.relax(level.data, level.x, level.right, level.answer);
    kernels_.relax(level.data, level.answer, level.right, level.x);
  }
  kernels_.relax(level.data, level.x, level.right, level.answer);
}

/// The lower half of the coarsest matrix, by rows: what lies before a cell is its west and its
/// north.
std::vector<double> Multigrid::coarsest_matrix(const Level& level) const {
  const LevelData& data = level.data;
  const std::size_t count = cells_.size();
  std::vector<double> matrix(count * count);
  const auto stride = static_cast<std::size_t>(data.stride);
  const auto couple = [&](std::size_t i, std::size_t other, float coupling) {
    const auto found = std::lower_bound(cells_.begin(), cells_.end(), other);
    if (found == cells_.end() || *found != other) return;
    matrix[i * count + static_cast<std::size_t>(found - cells_.begin())] = -coupling;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t cell = cells_[i];
    matrix[i * count + i] = data.diagonal[cell];
    couple(i, cell - 1, data.east[cell - 1]);
    couple(i, cell - stride, data.south[cell - stride]);
    couple(i, cell - stride - 1, data.south_east[cell - stride - 1]);
    couple(i, cell - stride + 1, data.south_west[cell - stride + 1]);
  }
  return matrix;
}

void Multigrid::invert_coarsest(const Level& level) {
  cells_.clear();
  if (level.active > most_inverted) return;
  const LevelData& data = level.data;
  for (const Strip& strip : level.arrays.strips()) {
    std::fill_n(level.answer + strip.cell, strip.cells, 0.0F);  // only active cells are written
    for (std::size_t i = strip.cell; i < strip.cell + strip.cells; ++i)
      if (data.inverse[i] > 0) cells_.push_back(i);
  }
  const std::size_t count = cells_.size();
  gathered_.resize(count);
  std::vector<double> matrix = coarsest_matrix(level);
  // Cholesky's factor in place, row by row ...
  for (std::size_t i = 0; i < count; ++i) {
    double* row = &matrix[i * count];
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = &matrix[j * count];
      double sum = row[j];
      for (std::size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      row[j] = j < i ? sum / other[j] : std::sqrt(sum);
    }
  }
  // ... and the columns of the inverse by substitution. Only what is at or below the diagonal is
  // computed; the rest is its mirror.
  inverse_.resize(count * count);
  std::vector<double> column(count);
  for (std::size_t unit = 0; unit < count; ++unit) {
    for (std::size_t i = unit; i < count; ++i) {
      double sum = i == unit ? 1 : 0;
      for (std::size_t k = unit; k < i; ++k) sum -= matrix[i * count + k] * column[k];
      column[i] = sum / matrix[i * count + i];
    }
    for (std::size_t i = count; i-- > unit;) {
      double sum = column[i];
      for (std::size_t k = i + 1; k < count; ++k) sum -= matrix[k * count + i] * column[k];
      column[i] = sum / matrix[i * count + i];
      inverse_[unit * count + i] = static_cast<float>(column[i]);
      inverse_[i * count + unit] = inverse_[unit * count + i];
    }
  }
}

}  // namespace wallheat
