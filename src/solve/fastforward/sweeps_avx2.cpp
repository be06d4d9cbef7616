#include "solve/fastforward/sweep_loops.hpp"

namespace wallheat {
namespace {

using Doubles = double __attribute__((vector_size(32)));
using Words = std::uint64_t __attribute__((vector_size(32)));

struct Vectors : TableMasks<Doubles, Words> {
  using Values = Doubles;
  static Values from_left(Values before, Values here) {
    return __builtin_shufflevector(before, here, 3, 4, 5, 6);
  }
  static Values from_right(Values here, Values after) {
    return __builtin_shufflevector(here, after, 1, 2, 3, 4);
  }
};

}  // namespace

RoomSweeps avx2_room_sweeps() { return all_sweeps<Vectors>; }

}  // namespace wallheat
