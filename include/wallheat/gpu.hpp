#pragma once

#include <string>
#include <vector>

#include "wallheat/placement.hpp"

namespace wallheat {

/// What this build and this node can do on GPUs.
struct GpuSupport {
  std::vector<Gpu> gpus;  ///< visible to this process (CUDA_VISIBLE_DEVICES counts)
  bool can_solve = false;
  std::string reason;  ///< where can_solve is false: one clause that says why
};

/// Looks for GPUs without taking memory or a context on any of them. Never throws for want of a
/// driver or a device: `reason` names it.
[[nodiscard]] GpuSupport gpu_support();

}  // namespace wallheat
