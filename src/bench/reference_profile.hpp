#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solve/solver_options.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// One step of the published program's loop.
struct ProfiledStep {
  std::string name;
  std::string what;  ///< as NumPy says it
  std::int64_t hits = 0;
  double seconds = 0;
};

/// Where the published program's algorithm spends its time: whole arrays, a step after the other,
/// as NumPy does them.
struct ReferenceProfile {
  std::vector<ProfiledStep> steps;
  std::int64_t iterations = 0;
  bool converged = false;
  double seconds = 0;         ///< of all steps
  double solver_seconds = 0;  ///< of `solver` for the same answer, the best of three

  [[nodiscard]] double speedup() const { return seconds / solver_seconds; }
};

/// Runs the algorithm step by step on one core, and the solver. Throws RunError if they differ
/// in a bit, as nothing would be worth comparing then, and InputError for a plan without interior
/// cells.
[[nodiscard]] ReferenceProfile profile_reference(const FloorPlan& plan,
                                                 const SolverOptions& solver);

}  // namespace wallheat
