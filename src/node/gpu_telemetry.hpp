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

/// Reads one GPU through NVML, the library of the driver. NVML is loaded at run time, so that
/// neither a build nor a run depends on it. Creates no CUDA context. Not thread-safe.
class GpuTelemetry {
 public:
  /// Finds the GPU by its UUID ("GPU-..."), because NVML also counts GPUs that CUDA_VISIBLE_DEVICES
  /// hides. Throws RunError, whose message is a clause with the reason, if NVML is not available or
  /// does not know this GPU. A slice of a GPU (MIG) cannot be read separately.
  explicit GpuTelemetry(const std::string& uuid, const std::string& library = "libnvidia-ml.so.1");

  /// Reads the current values. The energy is the power integrated over the time between samples
  /// (trapezoidal rule). sample() and processes() throw RunError if the GPU no longer responds.
  [[nodiscard]] GpuSample sample();
  /// Returns the processes that hold memory of the GPU, or have used it since the last call, in
  /// ascending order of their pid.
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

/// A GPU of this host as NVML, and therefore nvidia-smi, identifies it. CUDA_VISIBLE_DEVICES does
/// not matter.
struct NvmlGpu {
  unsigned index = 0;
  std::string uuid;
  std::string name;
};
/// Returns all GPUs that respond, in ascending order of their index. Throws RunError, whose message
/// is a clause with the reason, if NVML is not available.
[[nodiscard]] std::vector<NvmlGpu> nvml_gpus(const std::string& library = "libnvidia-ml.so.1");

/// Samples a GPU in a separate thread, because a driver with a fault may not respond for a long
/// time.
class GpuSampler {
 public:
  GpuSampler(GpuTelemetry telemetry, std::chrono::milliseconds interval);
  /// Waits up to 2 s for a pending call of the driver. Detaches the thread if the call does not
  /// return.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// Returns each sample once: the latest one, or nullopt if there is no new one. Throws RunError,
  /// once, if the GPU no longer responds; then there are no more samples.
  [[nodiscard]] std::optional<GpuSample> take_latest();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  /// Holds the error of a GPU that no longer responds, until take_latest() throws it.
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace wallheat
