#include "run/gpu_monitor.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "mpi/mpi_link.hpp"
#include "node/gpu_telemetry.hpp"
#include "view/console.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

GpuSamples monitor_gpu(const Gpu& gpu, const std::string& log_level, const std::string& host) {
  // Rank 1 is the worker of a run without MPI.
  const auto console = std::make_shared<Console>(log_level, std::max(1, launched_rank()), host);
  constexpr std::chrono::seconds interval{1};
  try {
    const auto sampler = std::make_shared<GpuSampler>(GpuTelemetry(gpu.uuid), interval);
    return [sampler, console]() -> std::optional<GpuSample> {
      try {
        return sampler->take();
      } catch (const RunError& error) {
        console->warn("no more readings of the GPU: {}", error.what());
        return std::nullopt;
      }
    };
  } catch (const RunError& error) {
    console->warn("no readings of the GPU: {}", error.what());
    return {};
  }
}

}  // namespace wallheat
