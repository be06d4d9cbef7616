#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

// Solvers of the discrete heat equation on a floor plan: each interior cell of the steady state is
// the mean of its four neighbours (plus a term of the heat source). All solvers start from the
// initial field of the plan. README.md in src/solve describes the methods.

/// Norm of delta, the change that one iteration makes.
enum class Norm {
  max,  ///< largest |new - old| over the interior cells
  l2,   ///< square root of the sum of (new - old)^2, added in the order of numpy.sum
};

[[nodiscard]] std::string_view to_string(Norm norm);

/// Convergence criterion, accuracy, and grid spacing.
struct SolveParameters {
  double tolerance = 1e-4;  ///< °C; an iteration converges when delta < tolerance (strictly)
  std::int64_t max_iterations = 20000;
  double accuracy = 1e-8;  ///< °C; largest allowed error of the steady solver in any cell
  Norm norm = Norm::max;   ///< norm of delta
  double spacing = 1;      ///< grid spacing; only matters with a heat source
};

/// Result of a solver.
struct Solution {
  Grid<double> field;  ///< °C, shape of the plan
  std::int64_t iterations = 0;
  double last_delta = 0;  ///< delta of the last iteration in °C; NaN if there was none
  bool converged = false;
  bool is_convergence_known = true;  ///< false: a solver command did not report `converged`
  /// Error bound in °C: no cell is farther than this from the steady state. NaN if none is proven.
  double error_bound = std::numeric_limits<double>::quiet_NaN();
  /// Error estimate in °C, from the decay of delta (see src/solve/convergence.hpp): the largest
  /// error of a cell; for Norm::l2 the root mean square over the interior cells. NaN if too few
  /// iterations were made.
  double error_estimate = std::numeric_limits<double>::quiet_NaN();
  /// Largest distance of a cell, in °C, from the iterate or the steady state that the solver
  /// approximates; 0 if the result is exact.
  double uncertainty = 0;
  bool fell_back = false;  ///< fastforward iterated exactly, without jumps
  double sweeps = 0;       ///< cell updates per interior cell, if that differs from `iterations`
};

/// Stop request and progress report of a solve. A solver uses both several times per second.
struct SolveControl {
  std::stop_token stop;  ///< solve() returns soon after a stop is requested
  /// Called with the number of iterations so far, and the latest delta in °C. May be empty.
  std::function<void(std::int64_t iterations, double delta)> progress;
};

/// A solver. It reuses its buffers for the next plan, so use one solver per thread.
class Solver {
 public:
  virtual ~Solver() = default;
  /// Solves one plan. Returns nullopt if a stop was requested. Throws InputError if the plan is too
  /// large for the device.
  [[nodiscard]] virtual std::optional<Solution> solve(const FloorPlan& plan,
                                                      const SolveParameters& limits,
                                                      const SolveControl& control) = 0;
};

/// Instruction sets of x86-64 for which the CPU solvers are compiled. Each includes the previous
/// one.
enum class Isa { baseline, avx2, avx512 };

[[nodiscard]] std::string_view to_string(Isa isa);

/// Returns the instruction sets that this processor supports, in the order of Isa.
[[nodiscard]] std::vector<Isa> available_isas();

/// Returns the reference solver: a direct translation of the published program, which is slow and
/// simple. All tests of bit-identity compare with it.
[[nodiscard]] std::unique_ptr<Solver> make_reference_solver();

/// Returns the vectorised Jacobi solver, whose results are bit-identical to the reference solver's.
/// Throws RunError if the processor does not support the instruction set.
[[nodiscard]] std::unique_ptr<Solver> make_jacobi_solver(Isa isa);

/// Returns the solver for the steady state: conjugate gradients, preconditioned by multigrid. It
/// solves to SolveParameters::accuracy and proves an error bound. `iterations` counts steps of
/// conjugate gradients, and last_delta is the delta that one Jacobi iteration would have. Results
/// are bit-identical for all instruction sets. Throws RunError if the processor does not support
/// the instruction set; solve() throws InputError if the accuracy cannot be proven in double
/// precision.
[[nodiscard]] std::unique_ptr<Solver> make_steady_solver(Isa isa);

/// Returns a solver that computes the iterate and the number of iterations of make_jacobi_solver()
/// with a fraction of the sweeps. The field is exact to 1e-11 times the largest temperature (the
/// largest measured deviation is 5e-12), and last_delta to 4e-10 times it (proven). It falls back
/// to exact iteration, and sets Solution::fell_back, for Norm::l2, if jumps would not save time,
/// and if the last iteration cannot be proven. Throws RunError if the processor does not support
/// the instruction set.
[[nodiscard]] std::unique_ptr<Solver> make_fastforward_solver(Isa isa);

}  // namespace wallheat
