#pragma once

#include <cstdint>
#include <limits>

#include "solve/error_estimate.hpp"
#include "solve/host_device.hpp"
#include "solve/logarithm.hpp"
#include "solve/stencil.hpp"

namespace wallheat {

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
