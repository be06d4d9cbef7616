#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "core/cell_statistics.hpp"
#include "core/text.hpp"
#include "solve/heat_source.hpp"
#include "solve/isa.hpp"
#include "solve/norms.hpp"
#include "solve/steady/conjugate_gradients.hpp"
#include "solve/steady/error_bound.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the power of two that scales `largest` to between 0.5 and 1, so that single precision
/// neither overflows nor underflows. Multiplication by a power of two is exact.
double scale_of(double largest) {
  if (largest == 0) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1020, 1020));
}

/// Returns the largest magnitude in fixed cells. The initial values of interior cells do not count,
/// but are seldom larger. So the maximum of all cells, which is faster to compute because it does
/// not need the mask, is usually the result.
double largest_fixed_of(const FloorPlan& plan) {
  const auto& cells = plan.domain.cells;
  const double of_all = largest_magnitude(plan.domain);
  for (std::size_t cell = 0; cell < cells.size(); ++cell)
    if (std::abs(cells[cell]) == of_all && plan.interior.cells[cell] == 0) return of_all;
  return largest_magnitude(plan.domain,
                           [&](std::size_t cell) { return plan.interior.cells[cell] == 0; });
}

[[noreturn]] void refuse(double accuracy, double floor) {
  std::array<char, 32> rounded_up{};
  std::snprintf(rounded_up.data(), rounded_up.size(), "%.1e", 1.05 * floor);
  throw InputError("an accuracy of " + format_repr(accuracy) +
                   " °C cannot be proven in double precision, whose limit is about " +
                   rounded_up.data() + " °C; use an accuracy of " + rounded_up.data() + " or more");
}

class SteadySolver final : public Solver {
 public:
  explicit SteadySolver(SteadyKernels kernels) : gradients_(kernels) {}

  std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                const SolveControl& control) override {
    const Grid<double> terms = source_terms(plan, limits);
    const FlushSubnormals flush;
    const bool is_new = plan.interior != interior_;
    if (is_new) {
      interior_.rows = 0;  // until everything that depends on the mask is computed
      gradients_.assign(plan.interior);
    }
    const double largest_fixed = largest_fixed_of(plan);
    if (!(largest_fixed <= max_magnitude)) require_finite_values(plan.domain, "its initial field");
    const double largest_term = largest_magnitude(terms);
    // Upper bound of the magnitudes of the steady state, from the fixed cells and the heat source.
    const double largest = largest_fixed + source_magnitude_bound(terms);
    const double scale = scale_of(largest);
    const auto stopped = [&](const ConjugateGradients::Progress&) {
      return control.stop.stop_requested();
    };
    if (is_new) {
      gradients_.solve_bound_function(stopped);
      if (control.stop.stop_requested()) return std::nullopt;
      const ConjugateGradients::Measured w = gradients_.measure();
      error_of_residual_ = error_per_residual(w.x, w.residual);
      interior_ = plan.interior;
    }
    const double error_of_residual = error_of_residual_;

    gradients_.start(plan.domain, terms, scale);
    const double flushed = flush_to_zero_bound(scale);
    const double rounding =
        residual_rounding_bound(largest * scale, largest_term * scale) + flushed;
    // Rounding errors leave a residual of about the size of their bound, up to three times as
    // large.
    const double floor = error_of_residual * rounding / scale;
    if (!(limits.accuracy >= 1.5 * floor)) refuse(limits.accuracy, 4 * floor);
    const double target = limits.accuracy * scale / error_of_residual - rounding;
    std::int64_t iterations = 0;
    ConjugateGradients::Measured found;
    // The residual that the iteration updates differs from the residual of the solution by rounding
    // errors. If these are too large, another round starts from the residual that measure()
    // computed.
    for (const double share : {1.0, 0.5, 0.25}) {
      iterations += gradients_
                        .iterate(share * target, limits.max_iterations - iterations,
                                 [&](const ConjugateGradients::Progress& made) {
                                   if (control.progress)
                                     control.progress(iterations + made.iterations,
                                                      made.residual / 4 / scale);
                                   return control.stop.stop_requested();
                                 })
                        .iterations;
      if (control.stop.stop_requested()) return std::nullopt;
      found = gradients_.measure();
      if (found.residual <= target || iterations >= limits.max_iterations) break;
    }
    Solution result{plan.domain, iterations, found.residual / 4 / scale, false};
    gradients_.store(1 / scale, result.field);
    result.error_bound =
        error_bound_of(error_of_residual, found.residual + flushed,
                       nan_max(found.x, largest_fixed * scale), largest_term * scale) /
        scale;
    result.uncertainty = result.error_bound;
    if (!std::isfinite(result.error_bound))
      throw InputError("its error bound is not finite, so its steady state is not proven");
    result.converged = result.error_bound <= limits.accuracy;
    if (!result.converged && iterations < limits.max_iterations)
      refuse(limits.accuracy, 1.25 * result.error_bound);
    return result;
  }

 private:
  ConjugateGradients gradients_;
  // Data that depend on the mask only. They are reused if the next plan has the same mask and other
  // temperatures.
  Grid<std::uint8_t> interior_;   ///< mask that gradients_ is set up for; empty if there is none
  double error_of_residual_ = 0;  ///< bound of the error per residual; see error_per_residual()
};

}  // namespace

std::unique_ptr<Solver> make_steady_solver(Isa isa) {
  return std::make_unique<SteadySolver>(kernels_for(isa).steady);
}

}  // namespace wallheat
