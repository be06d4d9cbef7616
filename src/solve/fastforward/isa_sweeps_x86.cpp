#include "solve/fastforward/isa_sweeps.hpp"

namespace wallheat {

RoomSweeps room_sweeps_for(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return avx512_room_sweeps();
    case Isa::avx2:
      return avx2_room_sweeps();
    default:
      return baseline_room_sweeps();
  }
}

}  // namespace wallheat
