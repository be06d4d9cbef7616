#include "solve/steady/conjugate_gradients.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/cell_statistics.hpp"

namespace wallheat {

namespace {

constexpr std::size_t width = strip_width;

/// Returns the arrays of a level. The finest level has separate arrays for two colours.
std::vector<float**> arrays_of(Level& level, bool is_finest) {
  std::vector<float**> arrays{&level.inverse[0], &level.rhs, &level.x};
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
  // Loops over the strips of the next coarser level may read past the end of the last row of this
  // level, by at most 4 * line values.
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

/// Finds the active cells of the finest grid: creates its strips, and sets `inverse`.
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

/// Finds the active cells of a coarse grid: those at the positions of active cells of the next
/// finer grid. Creates the strips, and copies `inverse` from the finer grid, which is not 0 in
/// these cells.
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
  // Element 0 is the row above the grid.
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
    memory_.clear();  // release the old memory first, to limit the peak
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

void ConjugateGradients::assign(const Grid<std::uint8_t>& interior) {
  const GridShape shape{interior.rows, interior.cols};
  if (shape != shape_) {
    shape_ = {};
    memory_ = {};  // release the old memory first, to limit the peak
  }
  multigrid_.assign(interior);
  if (shape != shape_) {
    const std::size_t size = multigrid_.size();
    memory_ = ZeroedArray<double>(4 * size);
    double* const first = memory_.data();
    vectors_ = {{first, first + size}, first + 2 * size, first + 3 * size, {}};
    partial_.resize(2 * static_cast<std::size_t>(multigrid_.finest().stride));
    shape_ = shape;
  }
  // Loops read neighbours of the strips, where values of the previous mask may remain.
  for (const Strip& strip : multigrid_.touched())
    std::fill_n(vectors_.black_direction + strip.cell, strip.cells, 0.0);
}

void ConjugateGradients::solve_bound_function(const std::function<bool(const Progress&)>& stopped) {
  for (const Strip& strip : multigrid_.touched())
    for (double* const x : vectors_.x) std::fill_n(x + strip.cell, strip.cells, 0.0);
  set_source({}, 0, 1);
  begin();
  constexpr std::int64_t enough = 200;
  iterate(0.5, enough, stopped);
}

void ConjugateGradients::start(const Grid<double>& domain, const Grid<double>& source,
                               double factor) {
  const std::vector<Strip>& touched = multigrid_.touched();
  kernels_.load(multigrid_.finest(), touched.data(), touched.data() + touched.size(),
                domain.cells.data(), factor, vectors_.x);
  set_source(source, factor, 0);
  begin();
}

void ConjugateGradients::set_source(const Grid<double>& source, double factor, double constant) {
  constant_ = constant;
  source_ = {};
  vectors_.source[0] = vectors_.source[1] = nullptr;
  if (source.cells.empty()) return;
  source_ = ZeroedArray<double>(2 * multigrid_.size());
  double* const of[2] = {source_.data(), source_.data() + multigrid_.size()};
  const auto stride = static_cast<std::size_t>(multigrid_.finest().stride);
  for (std::size_t row = 0; row < source.rows; ++row)
    for (std::size_t col = 0; col < source.cols; ++col)
      of[(row + col) % 2][(row + 1) * stride + strip_width + col / 2] = factor * source(row, col);
  std::copy_n(of, 2, vectors_.source);
}

void ConjugateGradients::begin() {
  const Level& level = multigrid_.finest();
  for (const Strip* strip = level.begin; strip != level.end; ++strip)
    std::fill_n(level.direction + strip->cell, strip->cells, 0.0F);
  kernels_.solve_black(level, vectors_, constant_);
  (void)measure();
}

ConjugateGradients::Progress ConjugateGradients::iterate(
    double residual, std::int64_t max_iterations,
    const std::function<bool(const Progress&)>& stopped) {
  const Level& level = multigrid_.finest();
  const auto cleared = [this] {
    partial_.assign(partial_.size(), 0);
    return partial_.data();
  };
  const auto sum = [this] { return std::accumulate(partial_.begin(), partial_.end(), 0.0); };
  Progress progress{0, residual_};
  // When rounding errors or the preconditioner limit the accuracy, the residual only fluctuates.
  constexpr std::int64_t max_without_gain = 30;
  double least = progress.residual;
  std::int64_t since_min = 0;
  double before = 0;  // product of preconditioned residual and residual, in the previous iteration
  while (progress.residual > residual && progress.iterations < max_iterations &&
         since_min < max_without_gain) {
    multigrid_.cycle(cleared());
    const double now = sum();
    kernels_.update_direction(level, static_cast<float>(before > 0 ? now / before : 0));
    before = now;
    kernels_.apply(level, vectors_, cleared());
    const double direction_product = sum();
    if (!(direction_product > 0)) break;
    kernels_.axpy(level, vectors_, now / direction_product, cleared());
    progress.residual = std::accumulate(partial_.begin(), partial_.end(), 0.0, nan_max);
    ++progress.iterations;
    ++since_min;
    if (progress.residual < 0.9 * least) {
      least = progress.residual;
      since_min = 0;
    }
    if (stopped && stopped(progress)) break;
  }
  kernels_.solve_black(level, vectors_, constant_);
  return progress;
}

ConjugateGradients::Measured ConjugateGradients::measure() {
  partial_.assign(partial_.size(), 0);
  const auto middle = partial_.begin() + multigrid_.finest().stride;
  kernels_.residual(multigrid_.finest(), vectors_, constant_, {partial_.data(), &*middle});
  residual_ = std::accumulate(partial_.begin(), middle, 0.0, nan_max);
  return {residual_, std::accumulate(middle, partial_.end(), 0.0, nan_max)};
}

void ConjugateGradients::store(double factor, Grid<double>& field) const {
  const Level& level = multigrid_.finest();
  for (const Strip* strip = level.begin; strip != level.end; ++strip) {
    for (std::ptrdiff_t colour = 0; colour < 2; ++colour) {
      const float* const inverse = level.inverse[colour] + strip->cell;
      const double* const x = vectors_.x[colour] + strip->cell;
      const std::ptrdiff_t first = 2 * strip->col + (strip->row + colour) % 2;
      double* const target = field.cells.data() + strip->row * level.cols + first;
      for (std::ptrdiff_t k = 0; k < std::min(strip->cells, (level.cols - first + 1) / 2); ++k)
        target[2 * k] = inverse[k] > 0 ? factor * x[k] : target[2 * k];
    }
  }
}

}  // namespace wallheat
