#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// When an iteration ends.
struct Limits {
  double tolerance = 1e-4;  ///< °C; stops when delta < tolerance (strict)
  std::int64_t max_iterations = 20000;
};

/// The steady state that a solver found.
struct Solution {
  Grid<double> field;  ///< °C, shape of the plan
  std::int64_t iterations = 0;
  double last_delta =
      0;  ///< largest |new - old| of the last iteration in °C; NaN if there was none
  bool converged = false;
};

/// What a long solve asks and tells on its way, some times a second.
struct SolveControl {
  std::stop_token stop;  ///< the solver gives up soon after a stop is requested
  /// Hears how many iterations are made and the largest change looked at last, in °C; may be empty.
  std::function<void(std::int64_t iterations, double delta)> progress;
};

/// A solver keeps its buffers from plan to plan: use one per thread.
class Solver {
 public:
  virtual ~Solver() = default;
  /// Solves one plan. Returns nothing if a stop was requested before the end. Throws InputError
  /// where the plan is too large for the device.
  [[nodiscard]] virtual std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
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

}  // namespace wallheat
