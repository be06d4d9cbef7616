#pragma once

#include <functional>
#include <memory>

#include "isolation/solver_child.hpp"
#include "simulation/cluster/campaign.hpp"

namespace wallheat::simulation {

/// A worker as it really is in a session.
struct TrueWorker {
  int kind = 0;
  bool lies = false;
  bool stranger = false;  ///< it solves other plans, or otherwise
  double slowness = 1;    ///< its plans take so many times as long as on its kind
  Seconds source_away_from = for_ever_s;
  bool faults = false;  ///< chance may strike
};

/// Starts simulated solver processes for a worker. `die` ends the worker's process. What it refers
/// to must outlive the events of the world.
[[nodiscard]] StartSolver simulated_solvers(Campaign& campaign, Process& process,
                                            const TrueWorker& worker, std::uint64_t seed,
                                            std::function<void()> die);

/// The longest that a plan takes this worker, from when its solver process has begun with it.
[[nodiscard]] Seconds plan_seconds(const Campaign& campaign, const TrueWorker& worker,
                                   std::uint32_t plan);

}  // namespace wallheat::simulation
