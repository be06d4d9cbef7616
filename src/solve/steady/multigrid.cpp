#include "solve/steady/multigrid.hpp"

#include <algorithm>
#include <cmath>

namespace wallheat {
namespace {

/// Factors of two steps of the Chebyshev iteration whose polynomial is smallest on an interval of
/// eigenvalues of D^-1 A: x1 = x0 + first D^-1 r0, x2 = x1 + momentum (x1 - x0) + step D^-1 r1.
struct Smoothing {
  constexpr Smoothing(double least, double most) {
    const double centre = (most + least) / 2;
    const double radius = (most - least) / 2;
    const double rho = 1 / (2 * centre / radius - radius / centre);
    first = static_cast<float>(1 / centre);
    momentum = static_cast<float>(rho * radius / centre);
    step = static_cast<float>(2 * rho / radius);
  }
  float first;
  float momentum;
  float step;
};

// The upper ends are those of the spectrum, about; the lower ones were the best of several tried.
constexpr Smoothing on_finest(0.5, 2.0);
constexpr Smoothing on_coarse(0.4, 1.6);

Smoothing smoothing_of(const Level& level) {
  return level.data.diagonal == nullptr ? on_finest : on_coarse;
}

constexpr std::int64_t small_enough = 64;  // active cells: no coarser level
constexpr std::int64_t most_inverted = 100;

bool is_coarsest(const Level& level) {
  return level.active <= small_enough || level.data.rows < 4 || level.data.cols < 4;
}

/// The finest level's strips and inverse diagonal.
void take_mask(const Grid<std::uint8_t>& interior, Level& level) {
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::uint8_t* mask = &interior(row, 0);
    float* inverse = level.data.inverse + level.cell(row, 0);
    for (std::size_t col = 0; col < interior.cols; col += strip_width) {
      const std::size_t end = std::min(col + strip_width, interior.cols);
      std::int64_t active = 0;
      for (std::size_t i = col; i < end; ++i) active += mask[i] != 0 ? 1 : 0;
      if (active == 0) continue;
      for (std::size_t i = col; i < end; ++i) inverse[i] = mask[i] != 0 ? 0.25F : 0.0F;
      level.active += active;
      level.add_block(row, col);
    }
  }
  level.seal();
}

/// The strips of a coarse level: its active cells are those that are active in the finer one.
/// `inverse` is set to something that is not 0 there.
void take_active_cells(const Level& fine, Level& coarse) {
  const LevelData& data = coarse.data;
  for (std::size_t row = 0; row < data.rows; ++row) {
    const float* from = fine.data.inverse + fine.cell(2 * row + 1, 1);
    float* inverse = data.inverse + coarse.cell(row, 0);
    for (std::size_t col = 0; col < data.cols; col += strip_width) {
      const std::size_t end = std::min(col + strip_width, data.cols);
      std::int64_t active = 0;
      for (std::size_t i = col; i < end; ++i) {
        inverse[i] = from[2 * i];
        active += inverse[i] > 0 ? 1 : 0;
      }
      if (active == 0) continue;
      coarse.active += active;
      coarse.add_block(row, col);
    }
  }
  coarse.seal();
}

}  // namespace

void Level::assign(std::size_t rows, std::size_t cols, bool finest) {
  active = 0;
  if (memory.data() != nullptr && rows == data.rows && cols == data.cols) {
    for (const Strip& strip : strips)
      for (float* array : arrays) std::fill_n(array + strip.cell, strip.cells, 0.0F);
    strips.clear();
    return;
  }
  strips.clear();
  data = {};
  data.rows = rows;
  data.cols = cols;
  const std::size_t stride = (cols + strip_width - 1) / strip_width * strip_width + strip_width;
  data.stride = static_cast<std::ptrdiff_t>(stride);
  // After the last row as much as a loop over a coarser strip may read beyond its end.
  size = (rows + 2) * stride + 4 * strip_width;
  std::vector<float**> places{&data.inverse, &right, &x, &scratch};
  if (!finest) {
    for (float** array :
         {&data.diagonal, &data.east, &data.south, &data.south_east, &data.south_west})
      places.push_back(array);
    for (float*& array : data.weights) places.push_back(&array);
  }
  memory = {};  // first, so that the peak is not both
  memory = ZeroedArray<float>(places.size() * size);
  arrays.clear();
  for (float** array : places) {
    *array = memory.data() + arrays.size() * size;
    arrays.push_back(*array);
  }
}

void Level::add_block(std::size_t row, std::size_t col) {
  if (!strips.empty() && strips.back().cell + strips.back().cells == cell(row, col)) {
    strips.back().cells += strip_width;
  } else {
    strips.push_back({cell(row, col), row, col, strip_width});
  }
}

void Level::seal() {
  data.begin = strips.data();
  data.end = strips.data() + strips.size();
}

void Multigrid::assign(const Grid<std::uint8_t>& interior) {
  if (levels_.empty()) levels_.emplace_back();
  levels_[0].assign(interior.rows, interior.cols, true);
  take_mask(interior, levels_[0]);
  depth_ = 1;
  while (!is_coarsest(levels_[depth_ - 1])) {
    if (levels_.size() == depth_) levels_.emplace_back();
    const Level& fine = levels_[depth_ - 1];
    Level& coarse = levels_[depth_];
    coarse.assign(fine.data.rows / 2, fine.data.cols / 2, false);
    take_active_cells(fine, coarse);
    if (coarse.active == 0) break;
    kernels_.interpolate(fine.data, coarse.data);
    kernels_.coarsen(fine.data, coarse.data);
    ++depth_;
  }
  invert_coarsest(levels_[depth_ - 1]);
}

void Multigrid::cycle(std::size_t number) {
  Level& level = levels_[number];
  if (number + 1 == depth_) {
    solve_coarsest(level);
    return;
  }
  const Level& coarse = levels_[number + 1];
  const Smoothing smoothing = smoothing_of(level);
  kernels_.smooth_from_zero(level.data, level.right, smoothing.first, smoothing.momentum,
                            smoothing.step, level.scratch, level.x);
  kernels_.residual(level.data, level.x, level.right, level.scratch);
  kernels_.restrict_residual(level.data, coarse.data, level.scratch, coarse.right);
  cycle(number + 1);
  kernels_.add_correction(level.data, coarse.data, coarse.x, level.x);
  kernels_.smooth(level.data, level.x, level.right, 0, smoothing.first, level.scratch);
  kernels_.smooth(level.data, level.scratch, level.right, smoothing.momentum, smoothing.step,
                  level.x);
}

void Multigrid::solve_coarsest(Level& level) {
  if (!cells_.empty()) {
    const std::size_t count = cells_.size();
    for (std::size_t i = 0; i < count; ++i) gathered_[i] = level.right[cells_[i]];
    for (std::size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (std::size_t j = 0; j < count; ++j) sum += inverse_[i * count + j] * gathered_[j];
      level.x[cells_[i]] = sum;
    }
    return;
  }
  const Smoothing smoothing = smoothing_of(level);
  kernels_.smooth_from_zero(level.data, level.right, smoothing.first, smoothing.momentum,
                            smoothing.step, level.scratch, level.x);
  for (int repeat = 0; repeat < 4; ++repeat) {
    kernels_.smooth(level.data, level.x, level.right, 0, smoothing.first, level.scratch);
    kernels_.smooth(level.data, level.scratch, level.right, smoothing.momentum, smoothing.step,
                    level.x);
  }
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
    if (data.diagonal == nullptr) {
      matrix[i * count + i] = 4;
      couple(i, cell - 1, 1);
      couple(i, cell - stride, 1);
    } else {
      matrix[i * count + i] = data.diagonal[cell];
      couple(i, cell - 1, data.east[cell - 1]);
      couple(i, cell - stride, data.south[cell - stride]);
      couple(i, cell - stride - 1, data.south_east[cell - stride - 1]);
      couple(i, cell - stride + 1, data.south_west[cell - stride + 1]);
    }
  }
  return matrix;
}

void Multigrid::invert_coarsest(const Level& level) {
  cells_.clear();
  if (level.active > most_inverted) return;
  const LevelData& data = level.data;
  for (const Strip* strip = data.begin; strip != data.end; ++strip)
    for (std::size_t i = strip->cell; i < strip->cell + strip->cells; ++i)
      if (data.inverse[i] > 0) cells_.push_back(i);
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
