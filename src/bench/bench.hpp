#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result_columns.hpp"
#include "solve/gpu/device.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

// Benchmarks of the solvers on cores and GPUs. All plans are in memory, so that reading them does
// not count.

namespace wallheat {

/// Makes the solver of one of several threads. Called in that thread.
using SolverFactory = std::function<std::unique_ptr<Solver>(std::size_t thread)>;

/// Throughput of several concurrent solvers, with one host thread each, for plans in memory.
struct Throughput {
  std::size_t in_flight = 0;  ///< number of solvers
  std::size_t plans = 0;
  double seconds = 0;
  double updates = 0;  ///< of interior cells
  [[nodiscard]] double plans_per_s() const { return static_cast<double>(plans) / seconds; }
  [[nodiscard]] double updates_per_s() const { return updates / seconds; }
};

/// Solves these plans in turn: at least `count` plans, and for at least `min_s` seconds. Each
/// solver first makes one iteration, which is not timed. Throws what solvers throw.
[[nodiscard]] Throughput measure_throughput(std::size_t in_flight, std::size_t count, double min_s,
                                            const SolverFactory& make_solver,
                                            const std::vector<FloorPlan>& plans,
                                            const SolveParameters& limits);

/// Measurements of a solver on one plan, on one core.
struct SolverRate {
  std::string id;  ///< of the plan
  std::int64_t interior_cells = 0;
  /// Number of interior cells divided by the number of cells that a sweep processes, which are
  /// whole blocks.
  double density = 0;
  SolverKind solver = SolverKind::jacobi;
  std::int64_t iterations = 0;  ///< of conjugate gradients for steady
  double sweeps = 0;            ///< updates per interior cell; NaN for steady
  std::vector<double> cpu_s;    ///< CPU times of the runs, ascending
  /// °C; maximum difference from the field of steady; NaN for steady, or if steady was not
  /// measured.
  double error = 0;
  double bound = 0;  ///< error bound in °C; NaN for solvers without one
  bool fell_back = false;

  /// Returns the interior cell updates of the fastest run, in 1e9/s.
  [[nodiscard]] double giga_updates_per_s() const {
    return static_cast<double>(interior_cells) * sweeps / cpu_s.front() * 1e-9;
  }
};

struct CpuBench {
  std::string device;
  /// Upper bound of cell updates per second, from additions alone: measured additions of
  /// independent vectors on one core, divided by three per update. No addition can be saved,
  /// because their order is fixed. The best of several measurements between the plans.
  double ceiling_updates_per_s = 0;
  double share_of_core = 1;  ///< CPU time of the solvers divided by their wall time
  /// All solvers of a plan one after the other, in the order of the settings.
  std::vector<SolverRate> plans{};
  /// For 1, 2, 4, ... threads, by wall time; empty unless requested.
  std::vector<Throughput> scaling{};
};

struct BenchPlans {
  std::vector<std::string> ids;
  std::vector<FloorPlan> plans;
};

/// Settings of measure_cpu().
struct CpuBenchSettings {
  SolverOptions options;
  std::vector<SolverKind> solvers{SolverKind::jacobi};
  int repeat = 1;        ///< measurements of each value
  bool scaling = false;  ///< also measure the solver of `options` on 1, 2, 4, ... cores
};

/// Solves each plan by each solver on one core, each time like a plan with a new mask. Measures the
/// upper bound of updates between the runs, because the clock frequency drifts. Throws RunError,
/// and InputError if steady cannot reach the accuracy.
[[nodiscard]] CpuBench measure_cpu(const BenchPlans& plans, const CpuBenchSettings& settings);

/// Returns the minimum CPU time of three runs in which a solver solves one generated plan of
/// sample_grid_size x sample_grid_size cells on the calling thread, in s. Before each run, the
/// solver processes another mask.
constexpr std::size_t sample_grid_size = 256;
[[nodiscard]] double measure_sample_plan_s(Solver& solver);

struct GpuBenchSettings {
  SolveParameters limits;
  std::vector<FloorPlan> plans;
  std::size_t cpu_cores = 1;  ///< for the comparison
  SolverFactory cpu_solver;
  /// Sides of the generated plans with which GPU and cores are compared, in cells.
  std::vector<std::size_t> sides = {32, 48, 64, 96, 128, 192, 256, 384, 512};
  double min_seconds = 2;  ///< minimum duration of each measurement of throughput
  std::function<void(const std::string&)> log;  ///< called with the name of the next measurement

  /// Makes the benchmark take seconds instead of minutes: shorter measurements, and none by grid
  /// size.
  void make_quick() {
    min_seconds = 0.2;
    sides.clear();
  }
};

/// Throughput for plans of one size.
struct GridSizeRate {
  std::size_t side = 0;  ///< cells
  double gpu_plans_per_s = 0;
  double cpu_plans_per_s = 0;
};

struct GpuBench {
  std::string name{};
  std::size_t compared = 0;  ///< plans whose results are bit-identical to those of the CPU
  /// For 1, 2, 4, ... plans in flight, and for the maximum of the GPU.
  std::vector<Throughput> flows{};
  std::size_t cpu_cores = 0;
  std::vector<GridSizeRate> sides{};
};

/// Measures a GPU. Throws RunError if results of the GPU are not bit-identical to those of the CPU,
/// because its speed would be meaningless, and what the solvers throw.
[[nodiscard]] GpuBench measure_gpu(GpuDevice& device, const GpuBenchSettings& settings);

/// Opens the first GPU of this process and measures it. Calls settings() only if there is a GPU.
/// Throws RunError, whose message contains the reason, if there is none.
[[nodiscard]] GpuBench measure_first_gpu(const std::function<GpuBenchSettings()>& settings);

/// Returns generated plans (seed 1) of one side. Uses all cores.
[[nodiscard]] std::vector<FloorPlan> generate_floor_plans(std::size_t count, std::size_t side);

/// One step in the loop of the published program.
struct ProfiledStep {
  std::string name;
  std::string numpy_code;  ///< code in NumPy
  std::int64_t hits = 0;
  double seconds = 0;
};

/// Time that each step of the published program's algorithm takes. The steps process whole arrays,
/// one after the other, as NumPy does.
struct ReferenceProfile {
  std::vector<ProfiledStep> steps;
  std::int64_t iterations = 0;
  bool converged = false;
  double total_seconds = 0;   ///< of all steps
  double solver_seconds = 0;  ///< of `solver` for the same result; the best of three

  [[nodiscard]] double speedup() const { return total_seconds / solver_seconds; }
};

/// Runs the algorithm step by step on one core, and the solver. Throws RunError if their results
/// are not bit-identical, because a comparison would be meaningless, and InputError for a plan
/// without interior cells.
[[nodiscard]] ReferenceProfile profile_reference(const FloorPlan& plan,
                                                 const SolverOptions& solver);

}  // namespace wallheat
