#pragma once

#include "wallheat/solver.hpp"

namespace wallheat {

/// Throws RunError if the processor lacks the set.
void require_isa(Isa isa);

}  // namespace wallheat
