#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "solve/host_device.hpp"

namespace wallheat {

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

}  // namespace wallheat
