#include "node/node_telemetry.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns MemTotal minus MemAvailable, see proc(5); NaN if one of them is missing.
double memory_used_bytes(const std::filesystem::path& meminfo) {
  constexpr double bytes_a_kb = 1024;
  double total_kb = nan_value;
  double available_kb = nan_value;
  std::ifstream stream(meminfo);
  std::string name;
  for (double kb = 0; stream >> name >> kb; stream.ignore(80, '\n')) {
    if (name == "MemTotal:") total_kb = kb;
    if (name == "MemAvailable:") available_kb = kb;
  }
  return (total_kb - available_kb) * bytes_a_kb;
}

}  // namespace

NodeTelemetry::NodeTelemetry(double now_s, const std::string& gpu_library,
                             std::filesystem::path proc)
    : start_s_(now_s), proc_(std::move(proc)), last_(ticks()) {
  try {
    gpus_ = nvml_gpus(gpu_library);
  } catch (const RunError& error) {
    problems_.push_back(std::string("no GPU readings: ") + error.what());
  }
  for (const NvmlGpu& gpu : gpus_) {
    try {
      sources_.emplace_back(std::in_place, gpu.uuid, gpu_library);
    } catch (const RunError& error) {
      sources_.emplace_back();
      problems_.push_back("no readings of GPU " + std::to_string(gpu.index) + ": " + error.what());
    }
  }
  (void)read_each_gpu(&GpuTelemetry::sample);  // starts the integration of the energy
}

NodeTelemetry::Ticks NodeTelemetry::ticks() const {
  const std::filesystem::path file = proc_ / "stat";
  std::ifstream stream(file);
  std::string name;
  // user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); the later columns are included
  // in user.
  std::array<double, 8> times{};
  stream >> name;
  for (double& time : times) stream >> time;
  if (name != "cpu") throw RunError(file.string() + " does not contain the CPU times");
  const double all = std::accumulate(times.begin(), times.end(), 0.0);
  return {all - times[3] - times[4], all};
}

template <class Reading>
std::vector<Reading> NodeTelemetry::read_each_gpu(Reading (GpuTelemetry::*ask)()) {
  std::vector<Reading> readings(gpus_.size());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (!sources_[i]) continue;
    try {
      readings[i] = ((*sources_[i]).*ask)();
    } catch (const RunError& error) {
      sources_[i].reset();
      problems_.push_back("no further readings of GPU " + std::to_string(gpus_[i].index) + ": " +
                          error.what());
    }
  }
  return readings;
}

NodeSample NodeTelemetry::sample(double now_s) {
  const Ticks before = std::exchange(last_, ticks());
  const double all = last_.all - before.all;
  // The times of idle cpus may decrease a little, see proc(5).
  const double busy_pct =
      all > 0 ? std::clamp(100 * (last_.busy - before.busy) / all, 0.0, 100.0) : nan_value;
  return {now_s - start_s_, busy_pct, memory_used_bytes(proc_ / "meminfo"),
          read_each_gpu(&GpuTelemetry::sample)};
}

std::vector<std::vector<GpuProcess>> NodeTelemetry::gpu_processes() {
  return read_each_gpu(&GpuTelemetry::processes);
}

std::vector<std::string> NodeTelemetry::take_warnings() { return std::exchange(problems_, {}); }

}  // namespace wallheat
