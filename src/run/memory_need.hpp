#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "isolation/job_settings.hpp"
#include "plans/plan_source.hpp"

namespace wallheat {

/// A plan, and about how many bytes its solver process holds at most.
struct PlanMemory {
  std::string id;
  GridShape shape;
  double bytes = 0;
};

/// What a plan takes on a CPU, from its shape alone. Throws InputError if it cannot be found.
[[nodiscard]] PlanMemory memory_of_plan(const PlanSource& source, const std::string& id,
                                        const JobSettings& job);

/// What solves at the same time on a node, and what there is for it.
struct NodeMemory {
  std::string name;
  std::size_t workers = 1;
  std::size_t threads = 0;  ///< of all workers
  double held = 0;          ///< bytes of workers and rank 0, without the solver processes
  double available = 0;     ///< bytes; 0: unknown
};

/// Bytes that a node needs where each thread is at such a plan.
[[nodiscard]] double needed_on(const NodeMemory& node, const PlanMemory& largest);

/// One sentence if that is more than there is; else empty.
[[nodiscard]] std::string warning_of_memory(const NodeMemory& node, const PlanMemory& largest);

}  // namespace wallheat
