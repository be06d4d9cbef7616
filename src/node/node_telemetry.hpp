#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "node/gpu_telemetry.hpp"

namespace wallheat {

/// What a node did at one moment, or since the moment before. NaN if the system does not tell.
struct NodeSample {
  double seconds = 0;                    ///< since the first look
  double cpu_busy_pct = nan_value;       ///< of the time of all cpus, by whatever process
  double memory_used_bytes = nan_value;  ///< what new processes could not have now
  std::vector<GpuSample> gpus;           ///< in the order of NodeTelemetry::gpus()
};

/// Reads the processors, the memory and all GPUs of this node.
class NodeTelemetry {
 public:
  /// Takes the first look, at `now_s` of any clock that goes steadily. `gpu_library` is NVML's,
  /// `proc` where Linux tells of the node. Throws RunError if there is no `proc`/stat.
  explicit NodeTelemetry(double now_s, const std::string& gpu_library = "libnvidia-ml.so.1",
                         std::filesystem::path proc = "/proc");

  [[nodiscard]] const std::vector<NvmlGpu>& gpus() const { return gpus_; }
  /// A GPU that does not answer any more has no readings from then on; so its processes. Throws
  /// RunError as the constructor.
  [[nodiscard]] NodeSample sample(double now_s);
  [[nodiscard]] std::vector<std::vector<GpuProcess>> gpu_processes();
  /// What could not be read, a sentence each, once.
  [[nodiscard]] std::vector<std::string> take_warnings();

 private:
  /// The time of all cpus since the start of the system.
  struct Ticks {
    double busy = 0;
    double all = 0;
  };
  [[nodiscard]] Ticks ticks() const;
  /// Asks each GPU that answers; the others have a Reading that is empty.
  template <class Reading>
  std::vector<Reading> read_each_gpu(Reading (GpuTelemetry::*ask)());

  double start_s_;
  std::filesystem::path proc_;
  Ticks last_;
  std::vector<NvmlGpu> gpus_;
  std::vector<std::optional<GpuTelemetry>> sources_;  ///< empty if the GPU answers no more
  std::vector<std::string> problems_;
};

}  // namespace wallheat
