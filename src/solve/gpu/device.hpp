#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/gpu_stats.hpp"
#include "core/machine.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// What this build and this node can do on GPUs.
struct GpuSupport {
  std::vector<Gpu> gpus;  ///< that can solve, visible to this process (CUDA_VISIBLE_DEVICES counts)
  std::string reason;     ///< if there are none: one clause that says why
  bool built_with_cuda = true;  ///< if not, this program cannot use the GPUs of any node
};

/// Lets as many streams of a GPU run side by side as CUDA can: by default the driver has 8 hardware
/// queues, and streams that share one wait for each other. To be called when a program starts,
/// before it has threads or uses CUDA. A CUDA_DEVICE_MAX_CONNECTIONS that the user has set stays.
void use_all_gpu_queues();

/// How many hardware queues the driver gives this process for a GPU.
[[nodiscard]] std::size_t gpu_queues();

/// How many plans of the usual size keep a GPU busy, those being read and summarised included: but
/// no more than it has queues.
[[nodiscard]] std::size_t max_plans_in_flight(int multiprocessors, std::size_t queues);

/// Looks for GPUs without taking memory or a context on any of them. Never throws for want of a
/// driver or a device: `reason` names it.
[[nodiscard]] GpuSupport gpu_support();

/// What a GPU is, for people who compare machines. What is not known is 0.
struct GpuProperties {
  int capability = 0;  ///< as 90 for compute capability 9.0
  int multiprocessors = 0;
  double clock_hz = 0;                 ///< of the multiprocessors, at most
  double memory_bytes_per_second = 0;  ///< at most
};

/// The properties of a GPU that gpu_support() has found. Takes no memory or context on it.
[[nodiscard]] GpuProperties gpu_properties(int ordinal);

/// The newest CUDA that the driver knows, as "12.4"; empty if there is no driver.
[[nodiscard]] std::string gpu_driver();

/// The plan is too much for this device; another may solve it.
struct DeviceTooSmall : InputError {
  using InputError::InputError;
};

/// A device cannot be trusted any more, at least not in this process: it reported an error, stopped
/// answering, or gave an answer that cannot be. What it was working on may succeed elsewhere.
struct DeviceFault : RunError {
  using RunError::RunError;
};

/// A device has stopped answering: what asks it for anything more may wait for ever.
struct DeviceTimeout : DeviceFault {
  using DeviceFault::DeviceFault;
};

/// A solver on a GPU, bit-identical to the reference. It throws DeviceTooSmall if the GPU has too
/// little memory for the plan, DeviceFault if the device failed or gave an answer that cannot be.
class GpuSolver : public Solver {
 public:
  /// How long the parts of the latest solve took.
  [[nodiscard]] const GpuPlanTimes& times() const { return times_; }

 protected:
  GpuPlanTimes times_;
};

/// A GPU that this process has opened: its solvers, one for each of many threads, share it.
class GpuDevice {
 public:
  virtual ~GpuDevice() = default;
  /// It has a stream and buffers of its own.
  [[nodiscard]] virtual std::unique_ptr<GpuSolver> make_solver() = 0;
  /// The number of solvers to make.
  [[nodiscard]] virtual std::size_t plans_at_once() const = 0;
};

/// Opens a GPU by CUDA's number of it in this process. Its kernels must first solve generated plans
/// to the bits of the reference solver: without the cluster kernel it goes on, which `warn` hears.
/// Throws DeviceFault if the device or its other kernel fails, and RunError if this build or node
/// has no such GPU.
[[nodiscard]] std::shared_ptr<GpuDevice> open_gpu(
    int ordinal, const std::function<void(const std::string&)>& warn);

/// Field, iterations and last delta, to the last bit.
[[nodiscard]] inline bool same_bits(const Solution& a, const Solution& b) {
  return a.iterations == b.iterations && a.converged == b.converged &&
         std::bit_cast<std::uint64_t>(a.last_delta) == std::bit_cast<std::uint64_t>(b.last_delta) &&
         a.field.rows == b.field.rows && a.field.cols == b.field.cols &&
         std::memcmp(a.field.cells.data(), b.field.cells.data(),
                     a.field.cells.size() * sizeof(double)) == 0;
}

}  // namespace wallheat
