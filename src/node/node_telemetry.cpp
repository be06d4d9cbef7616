#include "node/node_telemetry.hpp"

#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {

NodeTelemetry::NodeTelemetry(double now_s, const std::string& gpu_library) : start_s_(now_s) {
  try {
    gpus_ = nvml_gpus(gpu_library);
  } catch (const RunError& error) {
    problems_.push_back(std::string("no GPUs: ") + error.what());
  }
  for (const NvmlGpu& gpu : gpus_) {
    try {
      sources_.emplace_back(std::in_place, gpu.uuid, gpu_library);
    } catch (const RunError& error) {
      sources_.emplace_back();
      problems_.push_back("no readings of GPU " + std::to_string(gpu.index) + ": " + error.what());
    }
  }
  (void)of_each<GpuSample>([](GpuTelemetry& gpu) { return gpu.sample(); });  // energy from here on
}

template <class Reading, class Ask>
std::vector<Reading> NodeTelemetry::of_each(const Ask& ask) {
  std::vector<Reading> readings(gpus_.size());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (!sources_[i]) continue;
    try {
      readings[i] = ask(*sources_[i]);
    } catch (const RunError& error) {
      sources_[i].reset();
      problems_.push_back("no more readings of GPU " + std::to_string(gpus_[i].index) + ": " +
                          error.what());
    }
  }
  return readings;
}

std::vector<std::vector<GpuProcess>> NodeTelemetry::gpu_processes() {
  return of_each<std::vector<GpuProcess>>([](GpuTelemetry& gpu) { return gpu.processes(); });
}

NodeSample NodeTelemetry::sample(double now_s) {
  return {now_s - start_s_, cpu_.sample(),
          of_each<GpuSample>([](GpuTelemetry& gpu) { return gpu.sample(); })};
}

std::vector<std::string> NodeTelemetry::take_problems() { return std::exchange(problems_, {}); }

}  // namespace wallheat
