#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "solve/convergence.hpp"
#include "solve/cpu/active_blocks.hpp"
#include "solve/fastforward/power_expansion.hpp"
#include "solve/heat_source.hpp"
#include "solve/isa.hpp"
#include "solve/steady/conjugate_gradients.hpp"
#include "solve/steady/error_bound.hpp"

// The fastforward solver computes the same iterate as Jacobi's iteration in far fewer sweeps.
//
// An iteration is affine, u -> J u + b, where J is symmetric and non-negative and has row sums of
// at most 1. So the change of an iteration, d[k] = u[k] - u[k-1], satisfies d[k + m] = J^m d[k].
// Let T_j be the Chebyshev polynomials, p at least the largest eigenvalue of J, and x^m = sum of
// c_j T_j(x), where the c_j are non-negative and add up to 1. Then
//   d[k + m] = p^m sum of c_j y_j,  y_0 = d[k],  y_1 = J d[k] / p,  y_{j+1} = 2 J y_j / p -
//   y_{j-1}.
// Terms beyond 7.3 sqrt(m) are negligible (power_expansion.hpp), and the smaller p is, the fewer
// terms matter. The field follows from the same terms:
//   u[k + m] = u[k] + (d[k + m] - d[k]) + (1 + J) g,  g = (1 + J^2 + ... + J^(m-2)) d[k].
//
// Decay of the changes: let w be 0 in fixed cells, and A w >= c > 0 in interior cells, with
// A = 4 (1 - J). Then J w <= (1 - 1 / S) w with S = 4 max(w) / c. So no eigenvalue of J is above 1
// - 1 / S (Collatz and Wielandt), and the maximum norm of 1 + J + J^2 + ... is at most S.
//
// End of the iteration: delta, the maximum norm of d[k], never increases. So an iteration whose
// delta is at least the tolerance proves that no earlier iteration has converged. Jumps end before
// the iteration does; the last iterations are plain sweeps.
//
// Difference between a computed delta and the one that Jacobi's iteration computes, with e for half
// an epsilon and |.| for the 2-norm, which neither J nor any T_j(J) increases:
//   - A step of an expansion rounds by 7.6 e |d|: additions of 2, 3 and 4 values, halved and
//     multiplied by 1 / p <= 1.02 (this number is exact, because p is defined by it), a product and
//     a subtraction. After i more steps, an error has grown by a factor of at most |U_i| <= i + 1,
//     where the U_i are Chebyshev polynomials of the second kind. So the error of y_n is at most
//     7.6 e |d| n (n + 1) / 2. The c_j are the probabilities of a random walk, for which the mean
//     of n^2 is m, so the error of the sum is at most p^m 3.8 e |d| (m + sqrt(m)). The coefficients
//     and the summation add 3 n e |d| p^m.
//   - The omitted terms add their share of |d|, and the error of d[k] is multiplied by p^m.
//   - A plain sweep adds 2.25 e |d|.
//   All these errors are relative to the change at the start of a jump, not to the field.
//   - Jacobi's iteration itself rounds an iterate by r = 2.25 e (with a heat source 3.25 e) times
//     the largest temperature. The error of its d[k] consists of the latest of these errors, and of
//     the sum of (J - 1) J^i times the earlier ones: together at most 2 r min(k, S).

namespace wallheat {
namespace {

/// Number of iterations below which the plain sweeps of the exact solver are as fast.
constexpr std::int64_t worth_it = 1000;
constexpr std::int64_t worth_a_jump = 60;
/// The coefficients of a jump need about 170 bytes times the square root of its length.
constexpr std::int64_t longest_jump = 1'000'000'000;
/// Number of plain sweeps before the first jump. They smooth a rough initial field: the rounding
/// errors of a jump are relative to the change at its start, and a large change would make them
/// exceed max_decision_error.
constexpr std::int64_t first_sweeps = 16;
/// Number of plain sweeps between a jump and the iteration limit. They damp the error of the
/// omitted terms of the expansion.
constexpr std::int64_t last_sweeps = 32;
/// Limits of the part of a change that the omitted terms of an expansion contain, relative to the
/// tolerance and to the largest temperature.
constexpr double left_out_of_tolerance = 1e-6;
constexpr double left_out_of_largest = 3e-12;
/// Guaranteed accuracy of the last delta, relative to the largest temperature.
constexpr double max_decision_error = 4e-10;
/// Range of temperatures whose squares neither overflow nor underflow.
constexpr double min_temperature = 1e-100;
constexpr double highest_temperature = 1e100;

constexpr double half_epsilon = std::numeric_limits<double>::epsilon() / 2;

class FastForwardSolver final : public Solver {
 public:
  explicit FastForwardSolver(Isa isa) : loops_(kernels_for(isa)), exact_(make_jacobi_solver(isa)) {}

  std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                const SolveControl& control) override {
    auto solution = try_to_jump(plan, limits, control);
    // Release the fields, so that they and the conjugate gradients that find_decay() creates for
    // the next plan do not need memory at the same time.
    blocks_ = {};
    fields_ = {};
    if (solution || control.stop.stop_requested()) return solution;
    solution = exact_->solve(plan, limits, control);
    if (solution) solution->fell_back = true;
    return solution;
  }

 private:
  /// Returns nullopt if jumps would not save time, if the last iteration cannot be proven, or if a
  /// stop was requested.
  std::optional<Solution> try_to_jump(const FloorPlan& plan, const SolveParameters& limits,
                                      const SolveControl& control) {
    if (limits.norm != Norm::max || limits.max_iterations < worth_it) return std::nullopt;
    const Grid<double> terms = source_terms(plan, limits);
    const double largest = iterate_magnitude_bound(plan, terms);
    if (!(largest > min_temperature && largest < highest_temperature)) return std::nullopt;
    limits_ = limits;
    control_ = &control;
    left_out_ = left_out_of_largest * largest;
    if (limits.tolerance > 0)
      left_out_ = std::min(left_out_, left_out_of_tolerance * limits.tolerance);
    rounding_ = (plan.has_heat_source() ? 3.25 : 2.25) * half_epsilon * largest;
    const double decay = find_decay(plan.interior);
    // Assume that the initial distance from the steady state is 0.6 times the largest value.
    const double estimate = std::min(std::log(0.6 * largest * decay / limits.tolerance) / decay,
                                     static_cast<double>(limits.max_iterations));
    if (!(std::isfinite(inverse_norm_) && estimate >= worth_it)) return std::nullopt;
    // Near the end, consecutive deltas differ by tolerance * decay.
    if (estimate < static_cast<double>(limits.max_iterations) &&
        limits.tolerance * decay < 2 * decision_error(0, limits.max_iterations))
      return std::nullopt;
    begin(plan, terms);
    go_to_end(estimate);
    if (is_uncertain_ || control.stop.stop_requested() ||
        !(decision_error(error_, iterations_) <= max_decision_error * largest))
      return std::nullopt;
    Solution result{plan.domain, iterations_, delta_, delta_ < limits.tolerance};
    blocks_.store(field_, result.field);
    result.error_estimate = estimate_error(delta_, delta_after_two(change_), -2);
    result.uncertainty = jump_uncertainty * largest;
    result.sweeps = static_cast<double>(made_);
    return result;
  }

  /// Computes S. Returns an estimate of the smallest eigenvalue of 1 - J, which is the fraction by
  /// which an iteration near the end reduces delta.
  double find_decay(const Grid<std::uint8_t>& interior) {
    const FlushSubnormals flush;
    ConjugateGradients gradients(loops_.steady);
    gradients.assign(interior);
    gradients.solve_bound_function([&](const auto&) { return control_->stop.stop_requested(); });
    const ConjugateGradients::Measured w = gradients.measure();
    inverse_norm_ = 4 * error_per_residual(w.x, w.residual);
    constexpr double of_rooms = 1.35;  // approximate product of the eigenvalue, max(w) and 4
    return of_rooms / 4 / w.x;
  }

  /// Makes the first iteration.
  void begin(const FloorPlan& plan, const Grid<double>& terms) {
    blocks_.assign(plan.interior, loops_.sweeps);
    fields_.resize(6, blocks_.size());
    double** const fields[] = {&field_, &change_, &even_, &odd_, &sum_, &growth_};
    for (std::size_t i = 0; i < std::size(fields); ++i) *fields[i] = fields_[i];
    blocks_.load(plan.domain, field_);
    std::copy_n(field_, blocks_.size(), sum_);
    std::fill_n(even_, blocks_.size(), 0.0);
    std::fill_n(odd_, blocks_.size(), 0.0);
    const bool with_source = !terms.cells.empty();
    if (with_source) blocks_.load(terms, growth_);
    loops_.sweeps.sweep({field_, sum_, sum_, with_source ? growth_ : nullptr},
                        blocks_.runs(0, blocks_.fronts()), 1);
    for (std::size_t cell = 0; cell < blocks_.size(); ++cell) {
      change_[cell] = sum_[cell] - field_[cell];
      field_[cell] = sum_[cell];
    }
    is_uncertain_ = false;
    error_ = 0;
    made_ = 1;
    iterations_ = 0;
    note(1, loops_.sweeps.norms(blocks_.size(), change_));
  }

  /// Records the norms of the latest change. Sets is_uncertain_ if its delta is so close to the
  /// tolerance that it proves nothing. `iterations_more` is the number of iterations since the last
  /// call.
  void note(std::int64_t iterations_more, const Norms& change) {
    iterations_ += iterations_more;
    delta_ = change.largest;
    length_ = std::sqrt(change.squares);
    if (limits_.tolerance > 0)
      is_uncertain_ = is_uncertain_ ||
                      !(std::abs(delta_ - limits_.tolerance) > decision_error(error_, iterations_));
  }

  /// Returns an upper bound of the difference between delta and the one that Jacobi's iteration
  /// computes at this iteration, if the 2-norm of the error of the change is at most `error`. The
  /// first change counts like two iterations, and the rounding errors of its own subtractions are
  /// smaller than those of one more.
  [[nodiscard]] double decision_error(double error, std::int64_t iterations) const {
    return error + 2 * rounding_ * (std::min(static_cast<double>(iterations), inverse_norm_) + 3);
  }

  [[nodiscard]] bool ended() const {
    return delta_ < limits_.tolerance || iterations_ >= limits_.max_iterations || is_uncertain_ ||
           control_->stop.stop_requested();
  }

  /// Makes iterations until ended(): until the delta of one is below the tolerance, up to the
  /// limit, until the result is uncertain, or until a stop is requested.
  void go_to_end(double estimate) {
    constexpr std::int64_t some_sweeps = 2;
    constexpr double first_share = 0.94;
    (void)sweep(first_sweeps);
    std::int64_t target = limits_.max_iterations;
    if (limits_.tolerance > 0) target = static_cast<std::int64_t>(first_share * estimate);
    while (!ended()) {
      jump_towards(std::min(target, limits_.max_iterations - last_sweeps));
      const double before = sweep(some_sweeps);
      const std::int64_t remaining = iterations_between(delta_, before, delta_);
      // Aim a little before the end, because a jump that goes even one iteration too far is wasted.
      target = iterations_ + remaining - remaining / 512 - 4;
      if (target - iterations_ <= worth_a_jump) (void)sweep(target - iterations_);
    }
  }

  /// Returns an estimate of the number of iterations between one with this delta and the end, at
  /// most the iteration limit. `before` and `after` are deltas that are two iterations apart and
  /// show the decay. One iteration would not suffice, because modes with eigenvalues near -1
  /// alternate.
  [[nodiscard]] std::int64_t iterations_between(double delta, double before, double after) const {
    const double decay = std::log(before / after) / 2;
    const double between = std::abs(std::log(delta / limits_.tolerance)) / decay;
    return between >= 0 && between < static_cast<double>(limits_.max_iterations)
               ? static_cast<std::int64_t>(between)
               : limits_.max_iterations;
  }

  /// Returns the delta two iterations after a change.
  [[nodiscard]] double delta_after_two(const double* change) const {
    step(change, even_);
    step(even_, odd_);
    return loops_.sweeps.norms(blocks_.size(), odd_).largest;
  }

  /// Makes up to `count` plain iterations. Returns the delta two iterations before the last one.
  double sweep(std::int64_t count) {
    double last = delta_;
    double last_but_one = delta_;
    for (; count > 0 && !ended(); --count) {
      last_but_one = std::exchange(last, delta_);
      error_ += 3 * half_epsilon * length_;
      step(change_, even_);
      note(1, loops_.sweeps.apply_change(blocks_.size(), even_, change_, field_));
      ++made_;
      report();
    }
    return last_but_one;
  }

  /// Sets to = J from. Both fields are 0 in fixed cells.
  void step(const double* from, double* to) const {
    loops_.sweeps.sweep({from, to, to}, blocks_.runs(0, blocks_.fronts()), 1);
  }

  void report() const {
    if (control_->progress) control_->progress(iterations_, delta_);
  }

  /// Jumps to an iteration near `target`. Makes a shorter jump if the iteration may end before
  /// that, or none.
  void jump_towards(std::int64_t target) {
    while (target - iterations_ > worth_a_jump && !ended()) {
      const std::int64_t count = std::min(target - iterations_, longest_jump) / 2 * 2;
      const double error = expand(count);
      if (control_->stop.stop_requested()) return;
      const Norms found = loops_.sweeps.norms(blocks_.size(), sum_);
      if (limits_.tolerance == 0 ||
          found.largest >= limits_.tolerance + decision_error(error, iterations_ + count)) {
        step(growth_, even_);
        for (std::size_t cell = 0; cell < blocks_.size(); ++cell) {
          field_[cell] += (growth_[cell] + even_[cell]) + (sum_[cell] - change_[cell]);
          change_[cell] = sum_[cell];
        }
        error_ = error;
        note(count, found);
        return;
      }
      // Try again with a target near the end. It is estimated from the decay after the jump, which
      // is accurate if the decay was not slower before.
      const double delta = found.largest;
      const std::int64_t back = iterations_between(delta, delta, delta_after_two(sum_));
      target = iterations_ + std::min(count * 17 / 20, back < count ? count - back - 4 : count);
    }
  }

  /// Computes the change after `count` more iterations, an even number, in sum_, and g in growth_.
  /// Returns an upper bound of the 2-norm of the error of that change.
  double expand(std::int64_t count) {
    // A much smaller radius would not save more terms, and the numbers would become too small.
    const double radius = std::min(
        1.0, std::max({1 - 1 / inverse_norm_ + 1e-15, 0.99, 1 - 64 / static_cast<double>(count)}));
    const double stretch = 1 / radius;
    PowerExpansion expansion = power_expansion(count, stretch, left_out_ / length_);
    std::vector<double>& power = expansion.power;
    std::vector<double>& growth = expansion.growth;
    const std::size_t terms = 2 * power.size() - 1;
    // Each group of four levels computes two even terms, which are added to the sums together.
    const std::size_t made = (terms + max_fused_sweeps - 2) / max_fused_sweeps * max_fused_sweeps;
    power.resize(made / 2 + 1);
    growth.resize(made / 2 + 1);
    step(change_, odd_);
    for (std::size_t cell = 0; cell < blocks_.size(); ++cell) {
      even_[cell] = change_[cell];
      sum_[cell] = power[0] * change_[cell];
      growth_[cell] = growth[0] * change_[cell];
      odd_[cell] *= stretch;
    }
    const ExpansionFields fields{even_, odd_, sum_, growth_, 0.5 * stretch};
    for (std::size_t first = 0; first < made; first += max_sweeps_per_pass) {
      const std::size_t in_pass = std::min(max_sweeps_per_pass, made - first);
      const bool passed = blocks_.pass(
          in_pass, control_->stop, [&](std::size_t number, const BlockRuns& runs, int levels) {
            const std::size_t term = first + number + static_cast<std::size_t>(levels);
            const std::size_t even = term / 2;
            const TermShares shares{power[even - 1], power[even], growth[even - 1], growth[even]};
            loops_.sweeps.expand(fields, runs, term % max_fused_sweeps == 0 ? &shares : nullptr);
          });
      if (!passed) break;
      report();
    }
    made_ += static_cast<std::int64_t>(made) + 2;
    const double rounding =
        half_epsilon * (4 * static_cast<double>(count) + 6 * static_cast<double>(terms));
    return (expansion.damping + expansion.truncation_error) * error_ +
           (expansion.truncation_error + expansion.damping * rounding) * length_;
  }

  IsaKernels loops_;
  std::unique_ptr<Solver> exact_;
  SolveParameters limits_;
  const SolveControl* control_ = nullptr;
  double left_out_ = 0;      ///< limit of the 2-norm of the omitted terms of an expansion
  double rounding_ = 0;      ///< bound of the rounding error of an iterate of Jacobi's iteration
  double inverse_norm_ = 0;  ///< S, an upper bound of the maximum norm of (1 - J)^-1

  // The fields. All but field_ are 0 in fixed cells.
  ActiveBlocks blocks_;
  CompactFields fields_;
  double* field_ = nullptr;   ///< the iterate
  double* change_ = nullptr;  ///< the change of the latest iteration
  double* even_ = nullptr;    ///< terms of an expansion with even indices
  double* odd_ = nullptr;
  double* sum_ = nullptr;     ///< the change after a jump
  double* growth_ = nullptr;  ///< g

  std::int64_t iterations_ = 0;
  std::int64_t made_ = 0;  ///< number of sweeps
  double delta_ = 0;
  double length_ = 0;  ///< the 2-norm of the change
  double error_ = 0;   ///< upper bound of the 2-norm of the error of the change
  bool is_uncertain_ = false;
};

}  // namespace

std::unique_ptr<Solver> make_fastforward_solver(Isa isa) {
  return std::make_unique<FastForwardSolver>(isa);
}

}  // namespace wallheat
