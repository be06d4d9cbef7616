#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "node/gpu_telemetry.hpp"

namespace wallheat {

/// Load of a host at one moment, or since the previous sample. NaN if the system does not report a
/// value.
struct NodeSample {
  double seconds = 0;                    ///< since the constructor
  double cpu_busy_pct = nan_value;       ///< % of the time of all cpus, for all processes
  double memory_used_bytes = nan_value;  ///< memory that is not available to new processes
  std::vector<GpuSample> gpus;           ///< in the order of NodeTelemetry::gpus()
};

/// Reads the processors, the memory and all GPUs of this host.
class NodeTelemetry {
 public:
  /// Reads the counters at `now_s`, which is in s on any monotonic clock. `gpu_library` is the NVML
  /// library; `proc` is the mount point of procfs. Throws RunError if `proc`/stat cannot be read.
  explicit NodeTelemetry(double now_s, const std::string& gpu_library = "libnvidia-ml.so.1",
                         std::filesystem::path proc = "/proc");

  [[nodiscard]] const std::vector<NvmlGpu>& gpus() const { return gpus_; }
  /// Return the values since the previous call. A GPU that no longer responds has no readings and
  /// no processes in this and later calls. sample() throws RunError as the constructor does.
  [[nodiscard]] NodeSample sample(double now_s);
  [[nodiscard]] std::vector<std::vector<GpuProcess>> gpu_processes();
  /// Returns messages on what could not be read, each once.
  [[nodiscard]] std::vector<std::string> take_warnings();

 private:
  /// Time of all cpus since the start of the system.
  struct Ticks {
    double busy = 0;
    double all = 0;
  };
  [[nodiscard]] Ticks ticks() const;
  /// Reads each GPU that responds. The Reading of the others is empty.
  template <class Reading>
  std::vector<Reading> read_each_gpu(Reading (GpuTelemetry::*ask)());

  double start_s_;
  std::filesystem::path proc_;
  Ticks last_;
  std::vector<NvmlGpu> gpus_;
  std::vector<std::optional<GpuTelemetry>> sources_;  ///< nullopt if the GPU no longer responds
  std::vector<std::string> problems_;
};

}  // namespace wallheat
