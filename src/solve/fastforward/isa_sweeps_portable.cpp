#include "solve/fastforward/isa_sweeps.hpp"

namespace wallheat {

RoomSweeps room_sweeps_for(Isa) { return baseline_room_sweeps(); }

}  // namespace wallheat
