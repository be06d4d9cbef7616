#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Lets as many streams of a GPU run side by side as CUDA can: by default the driver has 8 hardware
/// queues, and streams that share one wait for each other. To be called when a program starts,
/// before it has threads or uses CUDA. A CUDA_DEVICE_MAX_CONNECTIONS that the user has set stays.
void use_all_gpu_queues();

/// Looks for GPUs without taking memory or a context on any of them. Never throws for want of a
/// driver or a device: `reason` names it.
[[nodiscard]] GpuSupport gpu_support();

/// What a GPU is, for people who compare machines. What is not known is 0.
struct GpuProperties {
  int capability = 0;  ///< as 90 for compute capability 9.0
  int multiprocessors = 0;
  int fp32_cores = 0;
  int fp64_cores = 0;
  double clock_hz = 0;                 ///< of the multiprocessors, at most
  double memory_bytes_per_second = 0;  ///< at most

  /// Fills in the cores by capability and multiprocessors.
  void set_cores();
  /// A core makes a multiplication and an addition in a cycle.
  [[nodiscard]] double fp32_per_second() const { return 2 * fp32_cores * clock_hz; }
  [[nodiscard]] double fp64_per_second() const { return 2 * fp64_cores * clock_hz; }
};

/// Of a GPU that gpu_support() has found. Takes no memory or context on it.
[[nodiscard]] GpuProperties gpu_properties(int ordinal);

/// A sentence's clause where a driver for one version of CUDA (as 12040 for 12.4) is too old for a
/// program that was built with another; empty where it will do. Within a major version drivers take
/// programs of newer minor versions ("CUDA Compatibility", NVIDIA).
[[nodiscard]] std::string why_driver_is_too_old(int driver, int built_with);

/// The newest CUDA that the driver knows, as "12.4"; empty where there is no driver.
[[nodiscard]] std::string gpu_driver();

/// One of a GPU's kernels: what it takes, and what it has done for all solvers of the device.
struct GpuKernel {
  std::string name;
  int threads = 0;                ///< of a block at most
  int registers = 0;              ///< of a thread
  std::size_t spilled_bytes = 0;  ///< of a thread: what its registers do not hold
  std::size_t shared_bytes = 0;   ///< of a block
  int blocks_a_multiprocessor = 0;
  double occupancy = 0;  ///< share of the threads that a multiprocessor can have
  std::int64_t launches = 0;
  double seconds = 0;  ///< from a stream's first launch to its end or the next look at the result
};

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
  /// Those that it can run, and what they have done so far.
  [[nodiscard]] virtual std::vector<GpuKernel> kernels() const = 0;
};

/// Opens a GPU by CUDA's number of it in this process. Before a solver of it uses one of its
/// kernels for the first time, the kernel must solve a small generated plan to the bits of the
/// reference solver; one that does not is done without, which `warn` hears. Throws DeviceFault if
/// the device fails, and RunError if this build or node has no such GPU.
[[nodiscard]] std::shared_ptr<GpuDevice> open_gpu(
    int ordinal, const std::function<void(const std::string&)>& warn);

}  // namespace wallheat
