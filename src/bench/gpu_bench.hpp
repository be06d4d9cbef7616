#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "solve/gpu/device.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Makes the solver of one of several threads; called in that thread.
using SolverFactory = std::function<std::unique_ptr<Solver>(std::size_t thread)>;

/// Plans that went through several solvers at a time, one host thread each.
struct Flow {
  std::size_t in_flight = 0;
  std::size_t plans = 0;
  double seconds = 0;
  double updates = 0;  ///< of interior cells
  [[nodiscard]] double plans_per_s() const { return static_cast<double>(plans) / seconds; }
  [[nodiscard]] double updates_per_s() const { return updates / seconds; }
};

struct GpuBenchSettings {
  Limits limits;
  std::vector<FloorPlan> plans;  ///< solved again and again
  std::size_t cpu_cores = 1;     ///< to compare with
  SolverFactory cpu_solver;
  /// Of generated plans, in cells, ascending: the GPU and the cores over sizes.
  std::vector<std::size_t> sides = {32, 48, 64, 96, 128, 192, 256, 384, 512};
  double least_s = 2;                            ///< each flow lasts as long, at least
  std::function<void(const std::string&)> tell;  ///< hears what is measured next; may be empty

  /// Seconds instead of minutes: shorter flows, no sizes.
  void make_quick() {
    least_s = 0.2;
    sides.clear();
  }
};

/// Plans of one size, from memory.
struct SideRate {
  std::size_t side = 0;  ///< cells
  double gpu_plans_per_s = 0;
  double cpu_plans_per_s = 0;
};

struct GpuBench {
  std::string name;
  std::size_t compared = 0;  ///< plans of which each bit is as the CPU's
  std::vector<Flow> flows;   ///< of 1, 2, 4, ... plans in flight, and as many as the GPU likes
  std::size_t cpu_cores = 0;
  std::vector<SideRate> sides;
  double break_even_side = std::numeric_limits<double>::quiet_NaN();  ///< see below
};

/// The side in cells from which on the GPU is the faster one at all larger sides that were
/// measured; between two of these interpolated, both axes being logarithmic. The smallest side
/// if it always is, NaN if it is not at the largest.
[[nodiscard]] double break_even_side(const std::vector<SideRate>& rates);

/// Measures a GPU. Each solver first makes one iteration, untimed. Throws RunError if the GPU's
/// answers are not those of the CPU to the last bit, as its speed would be worth nothing, and what
/// the solvers throw.
[[nodiscard]] GpuBench measure_gpu(GpuDevice& device, const GpuBenchSettings& settings);

/// The first GPU of this process. Throws RunError, with the reason, if there is none.
[[nodiscard]] Gpu gpu_to_measure();

/// Opens and measures it.
[[nodiscard]] GpuBench measure_gpu(const Gpu& gpu, const GpuBenchSettings& settings);

/// Generated plans (seed 1) of one side, made by all cores.
[[nodiscard]] std::vector<FloorPlan> generate_floor_plans(std::size_t count, std::size_t side);

}  // namespace wallheat
