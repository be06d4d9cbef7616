#pragma once

#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat::gpu {

/// A generated plan and the reference's answer to it, by which a device proves itself. It has
/// enough tiles for several blocks, and takes some tens of milliseconds to solve on one core.
class KnownAnswer {
 public:
  KnownAnswer();
  /// Throws DeviceFault if the solver's answer has other bits.
  void expect_of(Solver& solver) const;

 private:
  FloorPlan plan_;
  Limits limits_;
  Solution answer_;
};

}  // namespace wallheat::gpu
