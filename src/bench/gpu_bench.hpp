#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/flow.hpp"
#include "solve/gpu/device.hpp"

namespace wallheat {

struct GpuBenchSettings {
  Limits limits;
  std::vector<FloorPlan> plans;
  std::size_t cpu_cores = 1;  ///< to compare with
  SolverFactory cpu_solver;
  /// The sides of the generated plans with which GPU and cores are compared, in cells.
  std::vector<std::size_t> sides = {32, 48, 64, 96, 128, 192, 256, 384, 512};
  double least_s = 2;                            ///< each flow lasts as long, at least
  std::function<void(const std::string&)> tell;  ///< is called with what is measured next

  /// Seconds instead of minutes: shorter flows, no sizes.
  void make_quick() {
    least_s = 0.2;
    sides.clear();
  }
};

/// Plans of one size.
struct SideRate {
  std::size_t side = 0;  ///< cells
  double gpu_plans_per_s = 0;
  double cpu_plans_per_s = 0;
};

struct GpuBench {
  std::string name{};
  std::size_t compared = 0;   ///< plans of which each bit is as the CPU's
  std::vector<Flow> flows{};  ///< of 1, 2, 4, ... plans in flight, and as many as the GPU likes
  std::size_t cpu_cores = 0;
  std::vector<SideRate> sides{};
};

/// Measures a GPU. Throws RunError if the GPU's answers are not those of the CPU to the last bit,
/// as its speed would be worth nothing, and what the solvers throw.
[[nodiscard]] GpuBench measure_gpu(GpuDevice& device, const GpuBenchSettings& settings);

/// Opens the first GPU of this process and measures it; the settings are made if there is one.
/// Throws RunError, with the reason, if there is none.
[[nodiscard]] GpuBench measure_first_gpu(const std::function<GpuBenchSettings()>& settings);

/// Generated plans (seed 1) of one side, made by all cores.
[[nodiscard]] std::vector<FloorPlan> generate_floor_plans(std::size_t count, std::size_t side);

}  // namespace wallheat
