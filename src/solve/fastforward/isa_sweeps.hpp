#pragma once

#include "solve/fastforward/sweeps.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// The sweeps of an instruction set that is available.
[[nodiscard]] RoomSweeps room_sweeps_for(Isa isa);

}  // namespace wallheat
