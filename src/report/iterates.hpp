#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plans/plan_source.hpp"
#include "report/report.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// Numbers that a program may print for a plan.
struct Iterate {
  std::string how{};        ///< what the program does; empty if no usual program stops there
  std::int64_t sweeps = 0;  ///< 0: the steady state
  Statistics statistics{};
  double error = 0;           ///< °C: how far the program's mean and deviation may be from these
  double doubtful_cells = 0;  ///< so near 15 or 18 °C that the program may count them otherwise
  double pct_a_cell = 1;
};

/// Those of usual programs for a plan, and those of every hundredth sweep. The reference's stop and
/// limit are meant, 1e-4 °C and 20000 sweeps. Throws InputError if the plan has a heat source.
[[nodiscard]] std::vector<Iterate> iterates_of(const FloorPlan& plan, Solver& jacobi);
/// Those of programs that hold their field in single precision.
[[nodiscard]] std::vector<Iterate> single_precision_iterates(const FloorPlan& plan);
/// Every one from sweep `first` to `last`.
[[nodiscard]] std::vector<Iterate> iterates_between(const FloorPlan& plan, Solver& jacobi,
                                                    std::int64_t first, std::int64_t last);

/// Says what iterates the answers in a CSV are, of the plans of a source, and so what the program
/// does that printed them. The CSV has the column building_id, or id, and some of the reference's
/// four, in any order, with any number of digits. Solves plans on all cores, and tells on stderr
/// how many are done. Throws RunError, which names the file, and the line that is wrong.
[[nodiscard]] Report name_iterates(const std::string& file, const PlanSource& source);

}  // namespace wallheat
