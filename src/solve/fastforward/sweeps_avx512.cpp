#include "solve/fastforward/sweep_loops.hpp"

namespace wallheat {
namespace {

struct Vectors {
  using Values = double __attribute__((vector_size(64)));
  using Bits = std::uint64_t __attribute__((vector_size(64)));
  static Values from_left(Values before, Values here) {
    return __builtin_shufflevector(before, here, 7, 8, 9, 10, 11, 12, 13, 14);
  }
  static Values from_right(Values here, Values after) {
    return __builtin_shufflevector(here, after, 1, 2, 3, 4, 5, 6, 7, 8);
  }
};

}  // namespace

RoomSweeps avx512_room_sweeps() { return all_sweeps<Vectors>; }

}  // namespace wallheat
