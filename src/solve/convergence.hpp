#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "solve/stencil.hpp"

namespace wallheat {

/// The natural logarithm of a number >= 0 that is not subnormal, within 4e-16 of itself; NaN of
/// NaN. std::log may differ between CPU and GPU in the last digit. This one does not, as it is made
/// of operations that both round alike: with x = m 2^e, log x = e log 2 + 2 artanh s for s = (m -
/// 1) / (m + 1), by artanh's power series.
[[nodiscard]] WALLHEAT_HOST_DEVICE inline double logarithm(double number) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (number == 0) return -infinity;
  if (!(number < infinity)) return number;
  constexpr double log_2 = 0.69314718055994530942;
  constexpr std::uint64_t bits_of_root = 0x3fe6a09e667f3bcd;  // of sqrt(1/2)
  constexpr int mantissa_bits = 52;
  const auto bits = std::bit_cast<std::uint64_t>(number);
  // m is from sqrt(1/2) to sqrt(2), so |s| < 0.172 and s^25 / 25 < 1e-20.
  const auto exponent = static_cast<std::int64_t>(bits - bits_of_root) >> mantissa_bits;
  const auto m =
      std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << mantissa_bits));
  const double s = (m - 1) / (m + 1);
  double series = 0;
  for (int power = 23; power > 1; power -= 2) series = (series + 1.0 / power) * (s * s);
  return static_cast<double>(exponent) * log_2 + 2 * (s + s * series);
}

/// How far an iterate is from the steady state, estimated from the last change of an iteration
/// ("delta") and the one `distance` iterations before (or after: then the distance is negative). In
/// the unit and norm of delta; 0 if nothing changes, NaN if one is not known, infinite if they do
/// not decay.
///
/// The error is the sum of all changes to come. Once one mode is left of it, each change is the one
/// before times rho, the largest eigenvalue of the iteration, and so the sum is
/// delta (rho + rho^2 + ...) = delta rho / (1 - rho). If several modes are left, as in rooms
/// that end at different times, rho is still growing, and the estimate is too small. (Hackbusch,
/// Iterative Solution of Large Sparse Systems of Equations, section 2.)
[[nodiscard]] WALLHEAT_HOST_DEVICE inline double error_by_decay(double delta, double before,
                                                                std::int64_t distance) {
  if (delta == 0) return 0;
  const double decay = std::log(before / delta) / static_cast<double>(distance);
  return decay <= 0 ? std::numeric_limits<double>::infinity() : delta / std::expm1(decay);
}

/// That of an iteration whose deltas are looked at now and then.
///
/// Trivially copyable, and the same on host and device.
class ErrorEstimate {
 public:
  /// To be called with growing `iterations`.
  WALLHEAT_HOST_DEVICE void add(std::int64_t iterations, double delta) {
    now_ = {iterations, delta};
    if (iterations - later_.iterations < least_distance) return;
    earlier_ = later_;
    later_ = now_;
  }
  [[nodiscard]] WALLHEAT_HOST_DEVICE double value() const {
    return error_by_decay(now_.delta, earlier_.delta, now_.iterations - earlier_.iterations);
  }

 private:
  struct Look {
    std::int64_t iterations = 0;
    double delta = std::numeric_limits<double>::quiet_NaN();
  };
  static constexpr std::int64_t least_distance = 16;
  Look earlier_;  ///< at least that much before now_
  Look later_;    ///< the next earlier_
  Look now_;
};

/// The uncertainty of the fastforward solver, in parts of the largest magnitude that an iterate can
/// have: that of the plan's start field, and what a source can add. Eight times
/// the most that was measured.
inline constexpr double uncertainty_of_jumps = 4e-11;

/// Decides when delta is looked at and when an iteration ends, with the reference's answer: the
/// first iteration whose delta is below the tolerance. A back end makes window() sweeps, the last
/// of them with a look at delta, and asks accept() whether they stand.
///
/// In exact arithmetic delta never rises from one iteration to the next (the largest row sum of |J|
/// is at most 1), so a delta that is still too large proves all before it too large. Rounding can
/// raise it a little, at most by a margin, and a delta within that proves nothing.
///
/// Trivially copyable, and the same on host and device.
class Convergence {
 public:
  Convergence() = default;
  /// `largest`: the largest magnitude in the start field, in °C.
  WALLHEAT_HOST_DEVICE Convergence(double tolerance, std::int64_t max_iterations, double largest)
      : tolerance_(tolerance),
        // One update rounds by at most 2.25 largest * epsilon / 2, a difference of two twice that
        // and its own rounding on top: 8 * largest * epsilon covers it with room to spare.
        margin_per_sweep_(8 * largest * std::numeric_limits<double>::epsilon()),
        max_iterations_(max_iterations) {}

  [[nodiscard]] WALLHEAT_HOST_DEVICE bool finished() const {
    return converged_ || iterations_ >= max_iterations_;
  }
  [[nodiscard]] WALLHEAT_HOST_DEVICE bool converged() const { return converged_; }
  [[nodiscard]] WALLHEAT_HOST_DEVICE std::int64_t iterations() const { return iterations_; }
  /// The delta of the last iteration looked at; NaN if there was none.
  [[nodiscard]] WALLHEAT_HOST_DEVICE double last_delta() const { return last_delta_; }
  /// How far the iterate is from the steady state, see ErrorEstimate.
  [[nodiscard]] WALLHEAT_HOST_DEVICE double error_estimate() const { return estimate_.value(); }
  /// The most that rounding can have raised a value above its neighbours so far, with room to
  /// spare.
  [[nodiscard]] WALLHEAT_HOST_DEVICE double rounding_margin() const {
    return margin_per_sweep_ * static_cast<double>(iterations_);
  }

  /// Sweeps until the next look at delta: one or an even number.
  [[nodiscard]] WALLHEAT_HOST_DEVICE std::int64_t window() const {
    if (single_sweeps_ > 0) return 1;
    const std::int64_t remaining = max_iterations_ - iterations_;
    return even_or_one(window_ < remaining ? window_ : remaining);
  }

  /// Takes note that window() sweeps were made, the last with this largest change. Returns false
  /// if an earlier sweep of the window may have converged: the field must go back to what it was
  /// before the window. A window of one sweep always stands.
  [[nodiscard]] WALLHEAT_HOST_DEVICE bool accept(double delta) {
    const std::int64_t made = window();
    if (made > 1 && !(delta >= tolerance_ + margin_per_sweep_ * static_cast<double>(made))) {
      single_sweeps_ = made;  // those of the window again
      return false;
    }
    iterations_ += made;
    converged_ = has_converged(delta, tolerance_);
    if (single_sweeps_ > 0) {
      --single_sweeps_;
    } else {
      extrapolate(delta, made);
    }
    last_delta_ = delta;
    estimate_.add(iterations_, delta);
    return true;
  }

 private:
  WALLHEAT_HOST_DEVICE static constexpr std::int64_t even_or_one(std::int64_t most) {
    return most == 1 ? 1 : most - most % 2;
  }

  /// Sets the next window by extrapolating the decay of delta, which slows down as the fast modes
  /// die out: the forecast falls short of the true end and is seldom taken back.
  WALLHEAT_HOST_DEVICE void extrapolate(double delta, std::int64_t made) {
    const double decay = logarithm(last_looked_at_ / delta) / static_cast<double>(made);
    const double forecast = logarithm(delta / tolerance_) / decay;
    last_looked_at_ = delta;
    // NaN and infinity (first window, no decay, tolerance 0) fall through to the longest window.
    window_ = longest;
    if (forecast < static_cast<double>(longest)) {
      const auto most = static_cast<std::int64_t>(0.9 * forecast);
      window_ = even_or_one(most > 1 ? most : 1);
    }
  }

  static constexpr std::int64_t longest = 256;
  double tolerance_ = 0;
  double margin_per_sweep_ = 0;
  std::int64_t max_iterations_ = 0;
  std::int64_t iterations_ = 0;
  double last_delta_ = std::numeric_limits<double>::quiet_NaN();
  bool converged_ = false;
  ErrorEstimate estimate_;
  double last_looked_at_ = std::numeric_limits<double>::quiet_NaN();  ///< at a window's end
  std::int64_t window_ = 16;
  std::int64_t single_sweeps_ = 0;  ///< to make, each with a look at delta
};

}  // namespace wallheat
