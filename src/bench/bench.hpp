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

namespace wallheat {

/// Makes the solver of one of several threads; called in that thread.
using SolverFactory = std::function<std::unique_ptr<Solver>(std::size_t thread)>;

/// Plans from memory that went through several solvers at a time, one host thread each.
struct Throughput {
  std::size_t in_flight = 0;  ///< solvers
  std::size_t plans = 0;
  double seconds = 0;
  double updates = 0;  ///< of interior cells
  [[nodiscard]] double plans_per_s() const { return static_cast<double>(plans) / seconds; }
  [[nodiscard]] double updates_per_s() const { return updates / seconds; }
};

/// Solves these plans again and again, `count` at least, and for at least `min_seconds`. Each
/// solver first makes one iteration, untimed. Throws what solvers throw.
[[nodiscard]] Throughput measure_throughput(std::size_t in_flight, std::size_t count, double min_s,
                                            const SolverFactory& make_solver,
                                            const std::vector<FloorPlan>& plans,
                                            const SolveParameters& limits);

/// A solver on a plan, on one core.
struct SolverRate {
  std::string id;  ///< of the plan
  std::int64_t interior_cells = 0;
  /// The share of interior cells among those that a sweep goes over, as it updates whole blocks.
  double density = 0;
  SolverKind solver = SolverKind::jacobi;
  std::int64_t iterations = 0;  ///< of steady: of conjugate gradients
  double sweeps = 0;            ///< updates per interior cell; NaN for steady
  std::vector<double> cpu_s;    ///< in which the thread had its core, ascending
  double error = 0;  ///< °C: the largest difference to steady's field; NaN for steady or without it
  double bound = 0;  ///< °C: proven; NaN for the others
  bool fell_back = false;

  /// Interior cell updates in the fastest run.
  [[nodiscard]] double giga_updates_per_s() const {
    return static_cast<double>(interior_cells) * sweeps / cpu_s.front() * 1e-9;
  }
};

struct CpuBench {
  std::string device;
  /// Cell updates a second if nothing but their additions took time: those of independent vectors
  /// that one core makes, divided by the three of an update, none of which can be saved as their
  /// order is given. The best of what was measured among the plans.
  double ceiling_updates_per_s = 0;
  double share_of_core = 1;           ///< the part of the time in which the solvers had their core
  std::vector<SolverRate> plans{};    ///< the solvers of a plan one after the other, as asked for
  std::vector<Throughput> scaling{};  ///< of 1, 2, 4, ... threads, by wall time; if asked for
};

struct BenchPlans {
  std::vector<std::string> ids;
  std::vector<FloorPlan> plans;
};

/// What to measure of some plans, with these limits and this instruction set.
struct CpuBenchSettings {
  SolverOptions options;
  std::vector<SolverKind> solvers{SolverKind::jacobi};
  int repeat = 1;        ///< measurements of each figure
  bool scaling = false;  ///< also `options`' solver on 1, 2, 4, ... cores at once
};

/// Solves each plan by each solver on one core, in turns with the ceiling, as the clock drifts.
/// Throws RunError, and InputError if steady cannot reach the accuracy.
[[nodiscard]] CpuBench measure_cpu(const BenchPlans& plans, const CpuBenchSettings& settings);

/// The least CPU seconds of three that a solver takes for one generated plan of sample_grid_size x
/// sample_grid_size cells, on the calling thread.
constexpr std::size_t sample_grid_size = 256;
[[nodiscard]] double measure_sample_plan_s(Solver& solver);

struct GpuBenchSettings {
  SolveParameters limits;
  std::vector<FloorPlan> plans;
  std::size_t cpu_cores = 1;  ///< to compare with
  SolverFactory cpu_solver;
  /// The sides of the generated plans with which GPU and cores are compared, in cells.
  std::vector<std::size_t> sides = {32, 48, 64, 96, 128, 192, 256, 384, 512};
  double min_seconds = 2;                       ///< each flow lasts as long, at least
  std::function<void(const std::string&)> log;  ///< is called with what is measured next

  /// Seconds instead of minutes: shorter flows, no sizes.
  void make_quick() {
    min_seconds = 0.2;
    sides.clear();
  }
};

/// Plans of one size.
struct GridSizeRate {
  std::size_t side = 0;  ///< cells
  double gpu_plans_per_s = 0;
  double cpu_plans_per_s = 0;
};

struct GpuBench {
  std::string name{};
  std::size_t compared = 0;  ///< plans of which each bit is as the CPU's
  std::vector<Throughput>
      flows{};  ///< of 1, 2, 4, ... plans in flight, and as many as the GPU likes
  std::size_t cpu_cores = 0;
  std::vector<GridSizeRate> sides{};
};

/// Measures a GPU. Throws RunError if the GPU's answers are not those of the CPU to the last bit,
/// as its speed would be worth nothing, and what the solvers throw.
[[nodiscard]] GpuBench measure_gpu(GpuDevice& device, const GpuBenchSettings& settings);

/// Opens the first GPU of this process and measures it; the settings are made if there is one.
/// Throws RunError, with the reason, if there is none.
[[nodiscard]] GpuBench measure_first_gpu(const std::function<GpuBenchSettings()>& settings);

/// Generated plans (seed 1) of one side, made by all cores.
[[nodiscard]] std::vector<FloorPlan> generate_floor_plans(std::size_t count, std::size_t side);

/// One step of the published program's loop.
struct ProfiledStep {
  std::string name;
  std::string numpy_code;  ///< as NumPy says it
  std::int64_t hits = 0;
  double seconds = 0;
};

/// Where the published program's algorithm spends its time: whole arrays, a step after the other,
/// as NumPy does them.
struct ReferenceProfile {
  std::vector<ProfiledStep> steps;
  std::int64_t iterations = 0;
  bool converged = false;
  double total_seconds = 0;   ///< of all steps
  double solver_seconds = 0;  ///< of `solver` for the same answer, the best of three

  [[nodiscard]] double speedup() const { return total_seconds / solver_seconds; }
};

/// Runs the algorithm step by step on one core, and the solver. Throws RunError if they differ
/// in a bit, as nothing would be worth comparing then, and InputError for a plan without interior
/// cells.
[[nodiscard]] ReferenceProfile profile_reference(const FloorPlan& plan,
                                                 const SolverOptions& solver);

}  // namespace wallheat
