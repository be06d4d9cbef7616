#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "plans/plan_source.hpp"
#include "solve/superposition.hpp"

namespace wallheat {

/// A plan that could not be read or solved, and why.
struct FailedPlan {
  std::string id;
  std::string reason;  ///< error message
};

/// Called with the result of each plan; `index` is its position in `ids`. Called by several
/// threads.
using SuperpositionCallback = std::function<void(std::size_t index, const FloorPlan& plan,
                                                 const Superposition& superposition)>;

/// Reads and solves plans on `threads` threads; see solve_superposition(). Returns the plans that
/// cannot be read or solved, in the order of `ids`. `solved` is called with the number of plans
/// that are done, by one thread at a time; it may be empty. Throws SourceUnavailable.
[[nodiscard]] std::vector<FailedPlan> for_each_superposition(
    const PlanSource& source, const std::vector<std::string>& ids, const std::vector<double>& kinds,
    const SolveParameters& limits, std::size_t threads, const SuperpositionCallback& take,
    const std::function<void(std::size_t done)>& solved);

}  // namespace wallheat
