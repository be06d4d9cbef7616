#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "solve/stencil.hpp"

namespace wallheat {

/// Returns the natural logarithm of `x`, which must be 0 or a positive normal number, with a
/// relative error below 4e-16. Returns -infinity for 0, and `x` for infinity and NaN.
///
/// The result is the same in every bit on CPU and GPU, unlike that of std::log(), because every
/// operation here is rounded alike on both: with x = m 2^e, log x = e log 2 + 2 artanh s for
/// s = (m - 1) / (m + 1), where artanh is evaluated by its power series.
[[nodiscard]] WALLHEAT_HOST_DEVICE inline double portable_log(double x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (x == 0) return -infinity;
  if (!(x < infinity)) return x;
  constexpr double log_2 = 0.69314718055994530942;
  constexpr std::uint64_t bits_of_root = 0x3fe6a09e667f3bcd;  // of sqrt(1/2)
  constexpr int mantissa_bits = 52;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  // m is in [sqrt(1/2), sqrt(2)), so |s| < 0.172, and the first omitted term s^25 / 25 < 1e-20.
  const auto exponent = static_cast<std::int64_t>(bits - bits_of_root) >> mantissa_bits;
  const auto m =
      std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << mantissa_bits));
  const double s = (m - 1) / (m + 1);
  double series = 0;
  for (int power = 23; power > 1; power -= 2) series = (series + 1.0 / power) * (s * s);
  return static_cast<double>(exponent) * log_2 + 2 * (s + s * series);
}

/// Estimates the distance of an iterate from the steady state, in the unit and norm of delta.
///
/// `delta` is the change of the latest iteration, and `other_delta` that of the iteration
/// `iterations_apart` earlier (later if negative). Returns 0 if `delta` is 0, infinity if the
/// deltas do not decay, and NaN if either is NaN.
///
/// The error is the sum of all future changes. Once a single error mode dominates, each change is
/// rho times the previous one, where rho is the largest eigenvalue of the iteration matrix J. The
/// sum is then delta (rho + rho^2 + ...) = delta rho / (1 - rho). While several modes still matter,
/// for example in rooms that converge at different times, the observed ratio is still below rho,
/// and the estimate is too small. (Hackbusch, Iterative Solution of Large Sparse Systems of
/// Equations, section 2.)
[[nodiscard]] WALLHEAT_HOST_DEVICE inline double estimate_error(double delta, double other_delta,
                                                                std::int64_t iterations_apart) {
  if (delta == 0) return 0;
  const double decay = std::log(other_delta / delta) / static_cast<double>(iterations_apart);
  return decay <= 0 ? std::numeric_limits<double>::infinity() : delta / std::expm1(decay);
}

/// Estimates the error of an iteration from the deltas of its convergence checks.
///
/// Compares the latest delta with one at least `min_distance` iterations earlier; see
/// estimate_error(). Trivially copyable; gives the same bits on host and device.
class ErrorEstimator {
 public:
  /// Adds a convergence check. `iterations` must increase from call to call.
  WALLHEAT_HOST_DEVICE void add(std::int64_t iterations, double delta) {
    latest_ = {iterations, delta};
    if (iterations - next_reference_.iterations < min_distance) return;
    reference_ = next_reference_;
    next_reference_ = latest_;
  }
  /// Returns the estimated error after the latest check; NaN while too few checks were added.
  [[nodiscard]] WALLHEAT_HOST_DEVICE double value() const {
    return estimate_error(latest_.delta, reference_.delta,
                          latest_.iterations - reference_.iterations);
  }

 private:
  struct Check {
    std::int64_t iterations = 0;
    double delta = std::numeric_limits<double>::quiet_NaN();
  };
  static constexpr std::int64_t min_distance = 16;
  Check reference_;       ///< at least min_distance iterations before latest_
  Check next_reference_;  ///< becomes reference_ once latest_ is far enough ahead
  Check latest_;
};

/// Uncertainty of the field of the fastforward solver, relative to the largest magnitude that an
/// iterate can reach from the initial field and the heat source: eight times the largest deviation
/// from jacobi that was measured, 5e-12. Documents promise users 1e-11.
inline constexpr double jump_uncertainty = 4e-11;

/// Decides in which sweeps delta is computed, and when the iteration ends. The iteration ends where
/// the reference program's does: at the first iteration whose delta is below the tolerance.
///
/// A solver, on the CPU or the GPU, repeats the following until finished(): it saves the field,
/// makes sweeps_to_next_check() sweeps, computes delta in the last of them, and passes it to
/// accept(). If accept() returns false, it restores the saved field.
///
/// Skipping checks is safe because in exact arithmetic delta never increases (no row sum of |J|
/// exceeds 1): a delta that is still too large proves that all earlier ones were. Rounding can
/// increase delta by at most a known bound; a delta within that bound of the tolerance proves
/// nothing, and the sweeps are replayed one by one.
///
/// Trivially copyable; gives the same bits on host and device.
class Convergence {
 public:
  Convergence() = default;
  /// `initial_magnitude` is the largest magnitude in the initial field, in °C.
  WALLHEAT_HOST_DEVICE Convergence(double tolerance, std::int64_t max_iterations,
                                   double initial_magnitude)
      : tolerance_(tolerance),
        // An update rounds by at most 2.25 initial_magnitude epsilon / 2, and a difference of two
        // updates by twice that plus its own rounding. 8 initial_magnitude epsilon is larger than
        // both together.
        rounding_per_sweep_(8 * initial_magnitude * std::numeric_limits<double>::epsilon()),
        max_iterations_(max_iterations) {}

  [[nodiscard]] WALLHEAT_HOST_DEVICE bool finished() const {
    return converged_ || iterations_ >= max_iterations_;
  }
  [[nodiscard]] WALLHEAT_HOST_DEVICE bool converged() const { return converged_; }
  [[nodiscard]] WALLHEAT_HOST_DEVICE std::int64_t iterations() const { return iterations_; }
  /// Returns the delta of the last accepted check, in °C; NaN before the first.
  [[nodiscard]] WALLHEAT_HOST_DEVICE double last_delta() const { return last_delta_; }
  /// Returns the estimated distance of the iterate from the steady state; see ErrorEstimator.
  [[nodiscard]] WALLHEAT_HOST_DEVICE double error_estimate() const { return estimate_.value(); }
  /// Returns an upper bound, in °C, of how far rounding can have raised a cell above its neighbours
  /// so far.
  [[nodiscard]] WALLHEAT_HOST_DEVICE double rounding_bound() const {
    return rounding_per_sweep_ * static_cast<double>(iterations_);
  }

  /// Returns the number of sweeps up to and including the next convergence check: 1 or an even
  /// number, because solvers make two sweeps at a time.
  [[nodiscard]] WALLHEAT_HOST_DEVICE std::int64_t sweeps_to_next_check() const {
    if (replay_sweeps_ > 0) return 1;
    const std::int64_t remaining = max_iterations_ - iterations_;
    return even_or_one(check_interval_ < remaining ? check_interval_ : remaining);
  }

  /// Records that sweeps_to_next_check() sweeps were made, the last of them with this delta, in °C.
  /// Returns false if an earlier one of them may have converged: then they do not count, and the
  /// caller must restore the field from before them. A single sweep is always accepted.
  [[nodiscard]] WALLHEAT_HOST_DEVICE bool accept(double delta) {
    const std::int64_t sweeps = sweeps_to_next_check();
    if (sweeps > 1 && !(delta >= tolerance_ + rounding_per_sweep_ * static_cast<double>(sweeps))) {
      replay_sweeps_ = sweeps;
      return false;
    }
    iterations_ += sweeps;
    converged_ = has_converged(delta, tolerance_);
    if (replay_sweeps_ > 0) {
      --replay_sweeps_;
    } else {
      update_check_interval(delta, sweeps);
    }
    last_delta_ = delta;
    estimate_.add(iterations_, delta);
    return true;
  }

 private:
  /// Returns the largest number of at most `limit` that is 1 or even.
  WALLHEAT_HOST_DEVICE static constexpr std::int64_t even_or_one(std::int64_t limit) {
    return limit == 1 ? 1 : limit - limit % 2;
  }

  /// Sets the next check interval to 0.9 times the predicted number of sweeps until convergence.
  /// The prediction extrapolates the decay of delta over the last interval. The decay slows down as
  /// fast modes die out, so the prediction is usually too short and rollbacks are rare.
  WALLHEAT_HOST_DEVICE void update_check_interval(double delta, std::int64_t sweeps) {
    const double decay = portable_log(last_interval_delta_ / delta) / static_cast<double>(sweeps);
    const double predicted = portable_log(delta / tolerance_) / decay;
    last_interval_delta_ = delta;
    // NaN and infinity (first interval, no decay, tolerance 0) select the longest interval.
    check_interval_ = max_check_interval;
    if (predicted < static_cast<double>(max_check_interval)) {
      const auto limit = static_cast<std::int64_t>(0.9 * predicted);
      check_interval_ = even_or_one(limit > 1 ? limit : 1);
    }
  }

  static constexpr std::int64_t max_check_interval = 256;
  double tolerance_ = 0;
  double rounding_per_sweep_ = 0;
  std::int64_t max_iterations_ = 0;
  std::int64_t iterations_ = 0;
  double last_delta_ = std::numeric_limits<double>::quiet_NaN();
  bool converged_ = false;
  ErrorEstimator estimate_;
  /// Delta at the end of the last interval that was not a replay.
  double last_interval_delta_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t check_interval_ = 16;  // before the first check
  std::int64_t replay_sweeps_ = 0;  ///< sweeps still to be replayed, each with a convergence check
};

}  // namespace wallheat
