#include "solve/steady/conjugate_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/larger.hpp"

namespace wallheat {

void ConjugateGradients::assign(const Grid<std::uint8_t>& interior) {
  multigrid_.assign(interior);
  const Finest& level = multigrid_.finest();
  if (const GridShape shape{interior.rows, interior.cols}; shape_ != shape) {
    constexpr std::size_t arrays = 5;
    shape_ = {};
    memory_ = {};  // first, so that the peak is not both
    memory_ = ZeroedArray<double>(arrays * level.arrays.size());
    size_ = level.arrays.size();
    shape_ = shape;
  } else {  // what is read beyond the strips, too
    level.arrays.for_each_left([&](std::size_t cell, std::size_t cells) {
      std::fill_n(vectors().across + cell, cells, 0.0);
    });
  }
  columns_.assign(level.arrays.stride(), 0);
  extremes_.assign(3 * columns_.size(), 0);
}

void ConjugateGradients::solve_for_ones(const std::function<bool(const Progress&)>& stopped) {
  source_ = {};
  for (const Strip& strip : multigrid_.finest().halo)
    for (double* answer : vectors().answer) std::fill_n(answer + strip.cell, strip.cells, 0.0);
  start(1);
  constexpr std::int64_t enough = 200;
  iterate(0.5, enough, stopped);
}

void ConjugateGradients::start(const Grid<double>& domain, const Grid<double>& source,
                               double factor) {
  const Finest& level = multigrid_.finest();
  source_ = {};
  if (!source.cells.empty()) {
    source_ = ZeroedArray<double>(2 * size_);
    for (std::size_t row = 0; row < source.rows; ++row)
      for (std::size_t col = 0; col < source.cols; ++col)
        source_.data()[(row + col) % 2 * size_ + level.arrays.cell(row, col / 2)] =
            factor * source(row, col);
  }
  kernels_.begin(level.data, level.halo.begin(), level.halo.end(), domain.cells.data(), factor,
                 vectors().answer);
  start(0);
}

void ConjugateGradients::start(double constant) {
  constant_ = constant;
  const Finest& level = multigrid_.finest();
  kernels_.solve_black(level.data, vectors(), constant);
  kernels_.take_residual(level.data, vectors(), constant, columns_.data());
  residual_now_ = largest_of_columns();
  for (const Strip& strip : level.arrays.strips())
    std::fill_n(level.direction + strip.cell, strip.cells, 0.0F);
}

ConjugateGradients::Progress ConjugateGradients::iterate(
    double residual, std::int64_t max_iterations,
    const std::function<bool(const Progress&)>& stopped) {
  const Finest& level = multigrid_.finest();
  Progress progress{0, residual_now_};
  // Where rounding or the preconditioner has the last word, the residual only wavers.
  constexpr std::int64_t most_without_gain = 30;
  double least = progress.residual;
  std::int64_t since_least = 0;
  double before = 0;  // the residual times what multigrid made of it
  while (progress.residual > residual && progress.iterations < max_iterations &&
         since_least < most_without_gain) {
    multigrid_.cycle(columns_.data());
    const double now = sum_of_columns();
    const double beta = before > 0 ? now / before : 0;
    before = now;
    kernels_.turn(level.data, level.x, static_cast<float>(beta), level.direction);
    kernels_.cross(level.data, vectors());
    kernels_.curvature(level.data, vectors(), columns_.data());
    const double curvature = sum_of_columns();
    if (!(curvature > 0)) break;
    kernels_.advance(level.data, vectors(), now / curvature, columns_.data());
    progress.residual = largest_of_columns();
    ++progress.iterations;
    ++since_least;
    if (progress.residual < 0.9 * least) {
      least = progress.residual;
      since_least = 0;
    }
    if (stopped && stopped(progress)) break;
  }
  if (progress.iterations > 0) kernels_.solve_black(level.data, vectors(), constant_);
  return progress;
}

ConjugateGradients::Measured ConjugateGradients::measure() {
  const std::size_t columns = columns_.size();
  double* residual = extremes_.data();
  double* highest = residual + columns;
  double* answer = highest + columns;
  std::fill(residual, highest, 0.0);
  std::fill(highest, answer, -std::numeric_limits<double>::infinity());
  std::fill(answer, answer + columns, 0.0);
  kernels_.measure(multigrid_.finest().data, vectors(), {residual, highest, answer});
  const auto largest = [=](const double* begin) {
    return std::accumulate(begin, begin + columns, *begin, larger);
  };
  residual_now_ = largest(residual);
  return {residual_now_, largest(highest), largest(answer)};
}

void ConjugateGradients::store(double factor, Grid<double>& field) const {
  const Finest& level = multigrid_.finest();
  for (const Strip& strip : level.arrays.strips()) {
    const std::size_t even = strip.row % 2;  // the colour of even columns
    for (std::size_t colour = 0; colour < 2; ++colour) {
      const std::size_t offset = colour == even ? 0 : 1;
      const float* const inverse = level.data.inverse[colour] + strip.cell;
      const double* const answer = memory_.data() + colour * size_ + strip.cell;
      const std::size_t first = 2 * strip.col + offset;
      const std::size_t cells = std::min(strip.cells, (field.cols - first + 1) / 2);
      double* const target = &field(strip.row, 0) + first;
      for (std::size_t i = 0; i < cells; ++i)
        target[2 * i] = inverse[i] > 0 ? factor * answer[i] : target[2 * i];
    }
  }
}

Conjugate ConjugateGradients::vectors() const {
  const Finest& level = multigrid_.finest();
  const auto array = [&](std::size_t number) { return memory_.data() + number * size_; };
  const double* const source = source_.data();
  return {{array(0), array(1)},
          array(2),
          level.right,
          level.direction,
          array(3),
          array(4),
          {source, source == nullptr ? source : source + size_}};
}

double ConjugateGradients::sum_of_columns() {
  double sum = 0;
  for (double& column : columns_) {
    sum += column;
    column = 0;
  }
  return sum;
}

double ConjugateGradients::largest_of_columns() {
  double largest = 0;
  for (double& column : columns_) {
    largest = larger(largest, column);
    column = 0;
  }
  return largest;
}

}  // namespace wallheat
