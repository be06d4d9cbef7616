#include "solve/steady/conjugate_gradients.hpp"

#include <algorithm>
#include <numeric>

#include "core/larger.hpp"

namespace wallheat {

void ConjugateGradients::assign(const Grid<std::uint8_t>& interior) {
  const GridShape shape{interior.rows, interior.cols};
  if (shape != shape_) {
    shape_ = {};
    memory_ = {};  // first, so that the peak is not both
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
  // What is read beyond the strips may be the last mask's.
  for (const Strip& strip : multigrid_.touched())
    std::fill_n(vectors_.black_direction + strip.cell, strip.cells, 0.0);
}

void ConjugateGradients::solve_for_ones(const std::function<bool(const Progress&)>& stopped) {
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
  // If rounding or the preconditioner has the last word, the residual only wavers.
  constexpr std::int64_t most_without_gain = 30;
  double least = progress.residual;
  std::int64_t since_least = 0;
  double before = 0;  // the preconditioned residual times the residual
  while (progress.residual > residual && progress.iterations < max_iterations &&
         since_least < most_without_gain) {
    multigrid_.cycle(cleared());
    const double now = sum();
    kernels_.update_direction(level, static_cast<float>(before > 0 ? now / before : 0));
    before = now;
    kernels_.apply(level, vectors_, cleared());
    const double direction_product = sum();
    if (!(direction_product > 0)) break;
    kernels_.axpy(level, vectors_, now / direction_product, cleared());
    progress.residual = std::accumulate(partial_.begin(), partial_.end(), 0.0, larger);
    ++progress.iterations;
    ++since_least;
    if (progress.residual < 0.9 * least) {
      least = progress.residual;
      since_least = 0;
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
  residual_ = std::accumulate(partial_.begin(), middle, 0.0, larger);
  return {residual_, std::accumulate(middle, partial_.end(), 0.0, larger)};
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
