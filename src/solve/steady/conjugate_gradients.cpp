#include "solve/steady/conjugate_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wallheat {

void ConjugateGradients::assign(const Grid<std::uint8_t>& interior) {
  multigrid_.assign(interior);
  const Level& level = multigrid_.finest();
  if (size_ != level.size) {
    answer_ = {};  // first, so that the peak is not both
    residual_ = {};
    direction_ = {};
    answer_ = ZeroedArray<double>(level.size);
    residual_ = ZeroedArray<double>(level.size);
    direction_ = ZeroedArray<float>(level.size);
    size_ = level.size;
  }
  // A search direction is read beyond its strips, and those of the last plan are others.
  std::fill_n(direction_.data(), size_, 0.0F);
  columns_.assign(interior.cols + strip_width, 0);
  extremes_.assign(3 * columns_.size(), 0);
}

void ConjugateGradients::solve_for_ones(const std::function<bool(const Progress&)>& stopped) {
  std::fill_n(answer_.data(), size_, 0.0);
  source_ = {};
  const Level& level = multigrid_.finest();
  for (const Strip* strip = level.data.begin; strip != level.data.end; ++strip) {
    for (std::size_t i = strip->cell; i < strip->cell + strip->cells; ++i) {
      level.right[i] = 4 * level.data.inverse[i];
      residual_.data()[i] = static_cast<double>(level.right[i]);
      direction_.data()[i] = 0;
    }
  }
  residual_now_ = level.active > 0 ? 1 : 0;
  constexpr std::int64_t enough = 200;
  iterate(0.5, enough, stopped);
}

void ConjugateGradients::start(const Grid<double>& domain, const Grid<double>& source,
                               double factor) {
  const Level& level = multigrid_.finest();
  source_ = {};
  if (!source.cells.empty()) {
    source_ = ZeroedArray<double>(level.size);
    for (std::size_t row = 0; row < source.rows; ++row)
      std::transform(&source(row, 0), &source(row, 0) + source.cols,
                     source_.data() + level.cell(row, 0),
                     [=](double value) { return factor * value; });
  }
  kernels_.begin(level.data, domain.cells.data(), factor, answer_.data());
  for (const Strip* strip = level.data.begin; strip != level.data.end; ++strip)
    std::fill_n(direction_.data() + strip->cell, strip->cells, 0.0F);
  measure();
}

ConjugateGradients::Progress ConjugateGradients::iterate(
    double residual, std::int64_t max_iterations,
    const std::function<bool(const Progress&)>& stopped) {
  Level& level = multigrid_.finest();
  Progress progress{0, residual_now_};
  // Where rounding or the preconditioner has the last word, the residual only wavers.
  constexpr std::int64_t most_without_gain = 30;
  double least = progress.residual;
  std::int64_t since_least = 0;
  double before = 0;  // the residual times what multigrid made of it
  while (progress.residual > residual && progress.iterations < max_iterations &&
         since_least < most_without_gain) {
    multigrid_.cycle();
    kernels_.dot(level.data, level.right, level.x, columns_.data());
    const double now = sum_of_columns();
    const double beta = before > 0 ? now / before : 0;
    before = now;
    kernels_.turn(level.data, level.x, static_cast<float>(beta), direction_.data());
    kernels_.curvature(level.data, direction_.data(), columns_.data());
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
    return *std::max_element(begin, begin + columns);
  };
  residual_now_ = largest(residual);
  return {residual_now_, largest(highest), largest(answer)};
}

void ConjugateGradients::store(double factor, Grid<double>& field) const {
  const Level& level = multigrid_.finest();
  for (const Strip* strip = level.data.begin; strip != level.data.end; ++strip) {
    const std::size_t cells = std::min(strip->cells, field.cols - strip->col);
    double* target = &field(strip->row, strip->col);
    for (std::size_t i = 0; i < cells; ++i)
      if (level.data.inverse[strip->cell + i] > 0)
        target[i] = factor * answer_.data()[strip->cell + i];
  }
}

Conjugate ConjugateGradients::vectors() const {
  return {answer_.data(), residual_.data(), multigrid_.finest().right, direction_.data(),
          source_.data()};
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
    largest = std::max(largest, column);
    column = 0;
  }
  return largest;
}

}  // namespace wallheat
