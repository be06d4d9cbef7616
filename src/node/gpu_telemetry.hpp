#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/gpu_stats.hpp"

namespace wallheat {

class Nvml;

/// Reads one GPU through NVML, the driver's own library, which is loaded when it is needed: no
/// build and no run depends on it. It opens no CUDA context. One thread at a time may use it.
class GpuTelemetry {
 public:
  /// Finds the GPU by its UUID ("GPU-..."), as NVML counts also those that CUDA_VISIBLE_DEVICES
  /// hides. Throws RunError, with a clause that says why, if there is no NVML or it does not know
  /// this GPU; a slice of one (MIG) has no readings of its own.
  explicit GpuTelemetry(const std::string& uuid, const std::string& library = "libnvidia-ml.so.1");

  /// The energy is the power integrated over the time between samples (trapezoidal rule). Throws
  /// RunError if the GPU does not answer any more; so the next.
  [[nodiscard]] GpuSample sample();
  /// Those that hold memory of the GPU or used it since the last call, ascending by pid.
  [[nodiscard]] std::vector<GpuProcess> processes();

 private:
  double integrated_energy_j(double power_w);

  std::shared_ptr<const Nvml> nvml_;
  void* device_ = nullptr;
  double last_power_w_ = nan_value;
  std::chrono::steady_clock::time_point last_time_;
  double integrated_j_ = 0;
  unsigned long long latest_process_us_ = 0;
};

/// A GPU of this node as NVML, and so nvidia-smi, knows it, hidden by CUDA_VISIBLE_DEVICES or not.
struct NvmlGpu {
  unsigned index = 0;
  std::string uuid;
  std::string name;
};
/// All that answer, ascending by index. Throws RunError, with a clause that says why, if there is
/// no NVML.
[[nodiscard]] std::vector<NvmlGpu> nvml_gpus(const std::string& library = "libnvidia-ml.so.1");

/// Samples a GPU in a thread of its own, as a driver in trouble may not answer for long.
class GpuSampler {
 public:
  GpuSampler(GpuTelemetry telemetry, std::chrono::milliseconds interval);
  /// Waits a little for a call to the driver that is under way, and leaves it behind if it hangs.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// The latest sample, once. Throws RunError, once, if the GPU did not answer: there will be no
  /// more samples.
  [[nodiscard]] std::optional<GpuSample> take_latest();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::future<void> ended_;  ///< with the error of a GPU that does not answer, until it is taken
  std::thread thread_;
};

}  // namespace wallheat
