#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/gpu_ceiling.hpp"
#include "core/gpu_usage.hpp"
#include "solve/gpu/device.hpp"
#include "solve/offload.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Makes the solver of one of several threads; called in that thread.
using SolverFactory = std::function<std::unique_ptr<Solver>(std::size_t thread)>;

/// Plans that went through several solvers at a time, one host thread each, from a common queue.
struct Flow {
  std::size_t in_flight = 0;
  std::size_t plans = 0;
  double seconds = 0;
  double updates = 0;  ///< of interior cells
  GpuUsage gpu;        ///< from a second after the start on; no samples in a short flow
  [[nodiscard]] double plans_per_s() const { return static_cast<double>(plans) / seconds; }
  [[nodiscard]] double updates_per_s() const { return updates / seconds; }
};

/// A plan by its number in a data set, as a worker reads it.
struct PlanFiles {
  std::string name;  ///< for people
  std::size_t count = 0;
  std::function<FloorPlan(std::size_t)> load;  ///< called by several threads at a time
};

struct GpuBenchSettings {
  Limits limits;
  std::vector<FloorPlan> plans;  ///< solved again and again; about 512 of one size
  PlanFiles files;               ///< for end to end; count 0: copies of `plans`
  std::size_t most_in_flight = 512;
  std::size_t cpu_cores = 1;  ///< of the socket to compare with
  SolverFactory cpu_solver;
  /// Of plans, in cells, ascending: where to look for break-even.
  std::vector<std::size_t> sides = {32, 48, 64, 96, 128, 192, 256, 384, 512};
  double least_s = 2;                            ///< each flow lasts as long, at least
  std::size_t compared = 64;                     ///< of `plans`, before anything is measured
  std::function<void(const std::string&)> tell;  ///< hears what is measured next; may be empty

  /// Seconds instead of minutes: shorter flows, no search for break-even.
  void make_quick() {
    least_s = 0.2;
    sides.clear();
  }
};

/// A kernel that solves plans by itself.
struct NamedSolver {
  std::string name;
  SolverFactory solver;
};

/// What is measured; tests put other things in its place.
struct GpuUnderTest {
  std::string name;
  GpuDevice* device = nullptr;
  std::vector<NamedSolver> kernels;  ///< of the device, each for all plans
  SolverFactory baseline;
  GpuCeiling ceiling;
  GpuCopies copies;
  std::function<GpuSample()> sample;  ///< empty where NVML does not tell
};

/// A single plan, with nothing else at hand. Median seconds.
struct AloneTime {
  std::size_t plan = 0;
  double gpu_s = 0;
  double cpu_core_s = 0;
  double updates = 0;  ///< of interior cells
};

/// Plans of one size: solved and summarised, from memory.
struct SideRate {
  std::size_t side = 0;  ///< cells
  double gpu_plans_per_s = 0;
  double cpu_plans_per_s = 0;
};

/// One kernel for all plans, from memory.
struct KernelRate {
  std::string name;
  Flow flow;
};

struct GpuBench {
  std::string name;
  GpuCeiling ceiling;
  GpuCopies copies;
  std::size_t compared = 0;  ///< plans of which each bit is as the CPU's
  std::vector<Flow> baseline;
  std::vector<Flow> flows;  ///< ascending numbers of plans in flight
  std::vector<KernelRate> by_kernel;
  std::vector<GpuKernel> kernels;  ///< and what they did in all this
  Flow end_to_end;
  std::string end_to_end_source;
  std::vector<AloneTime> alone;
  std::size_t cpu_cores = 0;
  std::vector<SideRate> sides;
  double break_even_side = std::numeric_limits<double>::quiet_NaN();  ///< see below

  /// The flow with the most updates per second. `flows` must not be empty.
  [[nodiscard]] static const Flow& best(const std::vector<Flow>& flows);
  /// How many times as fast the GPU was as a core, over all plans that were alone.
  [[nodiscard]] double speedup_alone() const;
  /// What was measured, for the rule of offload.hpp, in cell updates: all cores, each as fast as
  /// one alone, and the GPU with the most plans in flight. The start of a plan is what one of the
  /// smallest side took, with all that it did; NaN where no sides were measured.
  [[nodiscard]] Offload offload(bool pinned) const;
};

/// The side in cells from which on the GPU is the faster one at all larger sides that were
/// measured; between two of these interpolated, both axes being logarithmic. The smallest side
/// where it always is, NaN where it is not at the largest.
[[nodiscard]] double break_even_side(const std::vector<SideRate>& rates);

/// Measures a GPU; takes one to two minutes. Each solver first makes one iteration, untimed. Throws
/// RunError where the GPU's answers are not those of the CPU to the last bit, as its speed would be
/// worth nothing, and what the solvers throw.
[[nodiscard]] GpuBench measure_gpu(const GpuUnderTest& gpu, const GpuBenchSettings& settings);

/// The first GPU of this process. Throws RunError, with the reason, where there is none.
[[nodiscard]] Gpu gpu_to_measure();

/// Measures it, with its baseline, its ceiling and NVML's samples.
[[nodiscard]] GpuBench measure_gpu(const Gpu& gpu, const GpuBenchSettings& settings);

/// Tables for people.
[[nodiscard]] std::string to_text(const GpuBench& bench);

/// Generated plans (seed 1) of one side, made by all cores.
[[nodiscard]] std::vector<FloorPlan> generate_floor_plans(std::size_t count, std::size_t side);

}  // namespace wallheat
