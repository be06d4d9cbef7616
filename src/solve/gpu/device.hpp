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

// GPUs as the rest of the program uses them. Builds without CUDA have this interface, too
// (device_absent.cpp).

/// GPUs that this build can use on this node.
struct GpuSupport {
  /// Usable GPUs that are visible to this process (see CUDA_VISIBLE_DEVICES).
  std::vector<Gpu> gpus;
  std::string reason{};         ///< one clause: why there are none; empty if there are some
  bool built_with_cuda = true;  ///< if not, this program cannot use the GPUs of any node
};

/// Sets CUDA_DEVICE_MAX_CONNECTIONS to the maximum, unless the user has set it: by default the
/// driver has 8 hardware queues, and streams that share a queue wait for each other. Call this when
/// the program starts, before it starts threads or uses CUDA.
void use_all_gpu_queues();

/// Returns the number of hardware queues of a GPU that the driver provides to this process.
[[nodiscard]] std::size_t gpu_queues();

/// Returns the number of plans of the usual size that keep a GPU busy, including those that are
/// being read or whose statistics are being computed. At most `queues`.
[[nodiscard]] std::size_t max_plans_in_flight(int multiprocessors, std::size_t queues);

/// Finds GPUs without allocating memory or creating a context on them. If the driver is missing or
/// there is no device, returns the reason instead of throwing.
[[nodiscard]] GpuSupport gpu_support();

/// Cell updates per second of one H100 with many plans of 512 x 512 cells, as README.md of this
/// folder describes. Estimates before a run use it, because the speed of other GPUs is not known.
inline constexpr double h100_updates_per_s = 8.7e11;

/// Properties of a GPU, for comparisons of machines. 0 means unknown.
struct GpuProperties {
  int capability = 0;  ///< compute capability, such as 90 for 9.0
  int multiprocessors = 0;
  double clock_hz = 0;                 ///< maximum clock rate of the multiprocessors
  double memory_bytes_per_second = 0;  ///< maximum memory bandwidth
};

/// Returns the properties of a GPU that gpu_support() has found. Does not allocate memory or create
/// a context on it.
[[nodiscard]] GpuProperties gpu_properties(int ordinal);

/// Returns the newest CUDA version that the driver supports, such as "12.4"; an empty string if
/// there is no driver.
[[nodiscard]] std::string gpu_driver();

/// Thrown if a plan is too large for this device. Another device may solve it.
struct DeviceTooSmall : InputError {
  using InputError::InputError;
};

/// Thrown if a device failed and cannot be used any more in this process: it reported an error,
/// does not respond, or returned an impossible result. Its plans may be solved on another device.
struct DeviceFault : RunError {
  using RunError::RunError;
};

/// Thrown if a device does not respond. Further calls to the device may block forever.
struct DeviceTimeout : DeviceFault {
  using DeviceFault::DeviceFault;
};

/// A solver on a GPU, whose results are bit-identical to the reference solver's. Throws
/// DeviceTooSmall if the GPU has too little memory for a plan, and DeviceFault if the device failed
/// or returned an impossible result.
class GpuSolver : public Solver {
 public:
  /// Returns the durations of the phases of the latest solve.
  [[nodiscard]] const GpuPlanTimes& times() const { return times_; }

 protected:
  GpuPlanTimes times_;
};

/// An open GPU, which several solvers in different threads share.
class GpuDevice {
 public:
  virtual ~GpuDevice() = default;
  /// Returns a solver with its own stream and buffers.
  [[nodiscard]] virtual std::unique_ptr<GpuSolver> make_solver() = 0;
  /// Returns the number of solvers that keep the GPU busy.
  [[nodiscard]] virtual std::size_t plans_at_once() const = 0;
};

/// Opens a GPU by its CUDA index in this process, and verifies its kernels with generated plans
/// against the CPU. If only the cluster kernel fails, calls warn() and uses the streaming kernel.
/// Throws DeviceFault if the device or its streaming kernel fails, and RunError if this build or
/// node has no such GPU.
[[nodiscard]] std::shared_ptr<GpuDevice> open_gpu(
    int ordinal, const std::function<void(const std::string&)>& warn);

/// Returns true if field, number of iterations and last delta of two solutions are bit-identical.
[[nodiscard]] inline bool same_bits(const Solution& a, const Solution& b) {
  return a.iterations == b.iterations && a.converged == b.converged &&
         std::bit_cast<std::uint64_t>(a.last_delta) == std::bit_cast<std::uint64_t>(b.last_delta) &&
         a.field.rows == b.field.rows && a.field.cols == b.field.cols &&
         std::memcmp(a.field.cells.data(), b.field.cells.data(),
                     a.field.cells.size() * sizeof(double)) == 0;
}

}  // namespace wallheat
