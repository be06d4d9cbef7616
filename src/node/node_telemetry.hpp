#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/cpu_telemetry.hpp"
#include "node/gpu_telemetry.hpp"

namespace wallheat {

/// What a node did at one moment, or since the moment before.
struct NodeSample {
  double seconds = 0;  ///< since the first look
  CpuSample cpu;
  std::vector<GpuSample> gpus;  ///< in the order of NodeTelemetry::gpus()
};

/// Reads the processors, the memory and all GPUs of this node.
class NodeTelemetry {
 public:
  /// Takes the first look, at `now_s` of any clock that goes steadily. `gpu_library` is NVML's.
  /// Throws RunError as CpuTelemetry.
  explicit NodeTelemetry(double now_s, const std::string& gpu_library = "libnvidia-ml.so.1");

  [[nodiscard]] const std::vector<NvmlGpu>& gpus() const { return gpus_; }
  /// A GPU that does not answer any more has no readings from then on; so its processes.
  [[nodiscard]] NodeSample sample(double now_s);
  [[nodiscard]] std::vector<std::vector<GpuProcess>> gpu_processes();
  /// What could not be read, a sentence each, once.
  [[nodiscard]] std::vector<std::string> take_problems();

 private:
  /// Asks each GPU that answers; the others have a Reading that is empty.
  template <class Reading, class Ask>
  std::vector<Reading> of_each(const Ask& ask);

  double start_s_;
  CpuTelemetry cpu_;
  std::vector<NvmlGpu> gpus_;
  std::vector<std::optional<GpuTelemetry>> sources_;  ///< empty if the GPU answers no more
  std::vector<std::string> problems_;
};

}  // namespace wallheat
