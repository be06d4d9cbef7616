#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "wallheat/solver.hpp"

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

/// A GPU that this process has opened: its solvers, one for each of many threads, share it.
class GpuDevice {
 public:
  virtual ~GpuDevice() = default;
  /// A solver with a stream and buffers of its own, bit-identical to the reference. What it throws:
  /// InputError where the plan is too large for the device's memory even alone, DeviceFault where
  /// the device failed or gave an answer that cannot be.
  [[nodiscard]] virtual std::unique_ptr<Solver> make_solver() = 0;
  /// How many plans of the usual size keep it busy at a time, those being read and stored
  /// included: the number of solvers to make.
  [[nodiscard]] virtual std::size_t plans_at_once() const = 0;
};

/// Opens a GPU by CUDA's number of it in this process and has it prove itself: it must solve a
/// small generated plan to the bits of the reference solver. Throws DeviceFault if it does not,
/// and RunError where this build or node has no such GPU.
[[nodiscard]] std::shared_ptr<GpuDevice> open_gpu(int ordinal);

}  // namespace wallheat
