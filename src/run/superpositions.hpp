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
  std::string reason;  ///< one sentence
};

/// What is done with each plan: number `index` of the ids. Called by several threads.
using SuperpositionCallback = std::function<void(std::size_t index, const FloorPlan& plan,
                                                 const Superposition& superposition)>;

/// Reads and solves plans on this many threads; see solve_superposition. Returns those that cannot
/// be used, in the order of the ids. `solved` hears how many plans are done, and may be empty.
/// Throws SourceUnavailable.
[[nodiscard]] std::vector<FailedPlan> for_each_superposition(
    const PlanSource& source, const std::vector<std::string>& ids, const std::vector<double>& kinds,
    const SolveParameters& limits, std::size_t threads, const SuperpositionCallback& take,
    const std::function<void(std::size_t done)>& solved);

}  // namespace wallheat
