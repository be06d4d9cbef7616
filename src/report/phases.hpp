#pragma once

#include <array>
#include <cstddef>

#include "wallheat/plan_result.hpp"

namespace wallheat {

/// A part of a plan's `seconds`.
struct Phase {
  const char* step;
  const char* name;  ///< of where the time went
  float PlanPhases::*seconds;
};

/// In the order in which they follow each other.
inline constexpr std::array phases_of_a_plan{
    Phase{"read", "reading", &PlanPhases::read_s}, Phase{"hash", "hashing", &PlanPhases::hash_s},
    Phase{"solve", "solving", &PlanPhases::solve_s},
    Phase{"statistics", "statistics", &PlanPhases::statistics_s},
    Phase{"compress", "compressing", &PlanPhases::compress_s}};

using PhaseSeconds = std::array<double, phases_of_a_plan.size()>;

inline void add_phases(const PlanPhases& of_plan, PhaseSeconds& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum.at(i) += static_cast<double>(of_plan.*phases_of_a_plan.at(i).seconds);
}

}  // namespace wallheat
