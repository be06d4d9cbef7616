#include "node/node_telemetry.hpp"

#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {

NodeTelemetry::NodeTelemetry(double now_s, const std::string& gpu_library)
    : start_s_(now_s), cpu_(now_s) {
  if (!cpu_.no_energy().empty())
    problems_.push_back("no power of the processors: " + cpu_.no_energy());
  try {
    gpus_ = nvml_gpus(gpu_library);
  } catch (const RunError& error) {
    problems_.push_back(std::string("no GPUs: ") + error.what());
  }
  sources_.resize(gpus_.size());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    try {
      sources_[i].emplace(gpus_[i].uuid, gpu_library);
      (void)sources_[i]->sample();  // energy counts from here
    } catch (const RunError& error) {
      lose(i, error.what());
    }
  }
}

void NodeTelemetry::lose(std::size_t gpu, const std::string& why) {
  sources_[gpu].reset();
  problems_.push_back("no more readings of GPU " + std::to_string(gpus_[gpu].index) + ": " + why);
}

template <class Reading, class Ask>
std::vector<Reading> NodeTelemetry::of_each(const Ask& ask) {
  std::vector<Reading> readings(gpus_.size());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (!sources_[i]) continue;
    try {
      readings[i] = ask(*sources_[i]);
    } catch (const RunError& error) {
      lose(i, error.what());
    }
  }
  return readings;
}

std::vector<GpuSettings> NodeTelemetry::gpu_settings() {
  return of_each<GpuSettings>([](const GpuTelemetry& gpu) { return gpu.settings(); });
}

std::vector<std::vector<GpuProcess>> NodeTelemetry::gpu_processes() {
  return of_each<std::vector<GpuProcess>>([](GpuTelemetry& gpu) { return gpu.processes(); });
}

NodeSample NodeTelemetry::sample(double now_s) {
  const bool had_energy = cpu_.no_energy().empty();
  NodeSample sample{now_s - start_s_, cpu_.sample(now_s), {}};
  if (had_energy && !cpu_.no_energy().empty())
    problems_.push_back("no more power of the processors: " + cpu_.no_energy());
  sample.gpus = of_each<GpuSample>([](GpuTelemetry& gpu) { return gpu.sample(); });
  return sample;
}

std::vector<std::string> NodeTelemetry::take_problems() { return std::exchange(problems_, {}); }

}  // namespace wallheat
