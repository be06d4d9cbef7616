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

/// How the change of an iteration ("delta") is measured.
enum class Norm {
  max,  ///< the largest |new - old| of a cell
  l2,   ///< the root of the sum of all (new - old)^2, added in the order of numpy.sum
};

[[nodiscard]] std::string_view to_string(Norm norm);

/// When an iteration ends, and how far apart the cells are.
struct SolveParameters {
  double tolerance = 1e-4;  ///< °C; stops when delta < tolerance (strict)
  std::int64_t max_iterations = 20000;
  double accuracy =
      1e-8;  ///< °C; the steady solver's: no cell may be farther from the steady state
  Norm norm = Norm::max;  ///< of delta
  double spacing = 1;     ///< of the cells, in the unit of the source; matters to sources only
};

/// The steady state that a solver found.
struct Solution {
  Grid<double> field;  ///< °C, shape of the plan
  std::int64_t iterations = 0;
  double last_delta = 0;  ///< of the last iteration in °C; NaN if there was none
  bool converged = false;
  /// °C: no cell is farther than that from the steady state. NaN if nothing is proven.
  double error_bound = std::numeric_limits<double>::quiet_NaN();
  /// °C: the same as estimated by how fast last_delta decayed, see src/solve/convergence.hpp; by
  /// Norm::l2 the root mean square over interior cells. NaN if too few iterations were made.
  double error_estimate = std::numeric_limits<double>::quiet_NaN();
  /// °C: how far a cell may be from the answer that was asked for; 0 if every bit is right.
  double uncertainty = 0;
  bool fell_back = false;  ///< the exact iteration was made in place of jumps
  double sweeps = 0;       ///< updates per interior cell, if that is not `iterations`
};

/// How a long solve is stopped and tells its progress, some times a second.
struct SolveControl {
  std::stop_token stop;  ///< the solver gives up soon after a stop is requested
  /// Is called with the number of iterations so far and the latest largest change, in °C; may be
  /// empty.
  std::function<void(std::int64_t iterations, double delta)> progress;
};

/// A solver keeps its buffers from plan to plan: use one per thread.
class Solver {
 public:
  virtual ~Solver() = default;
  /// Solves one plan. Returns nothing if a stop was requested before the end. Throws InputError if
  /// the plan is too large for the device.
  [[nodiscard]] virtual std::optional<Solution> solve(const FloorPlan& plan,
                                                      const SolveParameters& limits,
                                                      const SolveControl& control) = 0;
};

/// Instruction sets of the vectorised CPU back end, from the least to the most able.
enum class Isa { baseline, avx2, avx512 };

[[nodiscard]] std::string_view to_string(Isa isa);

/// The instruction sets that this processor can run, least able first.
[[nodiscard]] std::vector<Isa> available_isas();

/// The oracle: the published program's iteration, sequential, one delta per iteration.
[[nodiscard]] std::unique_ptr<Solver> make_reference_solver();

/// Vectorised Jacobi, bit-identical to the reference. Throws RunError if the processor lacks the
/// set.
[[nodiscard]] std::unique_ptr<Solver> make_jacobi_solver(Isa isa);

/// The true steady state, to SolveParameters::accuracy, by conjugate gradients and multigrid; the
/// solution has a proven bound. An iteration is one of conjugate gradients, and last_delta what one
/// of Jacobi would still change. The same bits for all instruction sets. Throws RunError if the
/// processor lacks the set; its solve() throws InputError if double precision cannot prove the
/// accuracy.
[[nodiscard]] std::unique_ptr<Solver> make_steady_solver(Isa isa);

/// The iterate and the number of iterations of make_jacobi_solver(), from a fraction of the sweeps:
/// the field to 1e-11 of the largest temperature (at most 5e-12 was measured), and last_delta to
/// 4e-10 of it (proven). The exact iteration is made, and the solution says so, by the 2-norm, if
/// jumps gain nothing, and if the end cannot be proven. Throws RunError if the processor lacks the
/// set.
[[nodiscard]] std::unique_ptr<Solver> make_fastforward_solver(Isa isa);

}  // namespace wallheat
