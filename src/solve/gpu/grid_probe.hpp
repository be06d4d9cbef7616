#pragma once

#include <functional>
#include <memory>
#include <string>

#include "solve/gpu/solver.hpp"

namespace wallheat::gpu {

/// How a device without clusters, whose plans stay on the chip by cooperative launches, is to solve
/// many plans.
struct GridUse {
  bool grid = true;       ///< by the grid kernel; else by streaming
  bool one_plan = false;  ///< one at a time, as another would only wait for it
  std::string warning{};  ///< what was measured; empty where plans run side by side
};

/// Seconds that so many equal plans took together by a kernel.
using ProbeTime = std::function<double(Kernel kernel, int plans)>;

/// CUDA does not say whether two cooperative grids that both fit run side by side. Where two take
/// more than 1.5 times as long as one, they do not, and then streaming, whose launches share the
/// device, takes over if it solves two in less time.
[[nodiscard]] GridUse choose_grid_use(const ProbeTime& seconds);

/// Solves so many generated plans of 256 x 256 cells at once, 1000 iterations each, in a thread and
/// with a solver each; returns the seconds of the fastest of three rounds. Throws what the solvers
/// throw.
[[nodiscard]] double time_probe(const std::function<std::unique_ptr<Solver>()>& make_solver,
                                int plans);

}  // namespace wallheat::gpu
