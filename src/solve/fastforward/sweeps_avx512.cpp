#include <immintrin.h>

#include "solve/fastforward/sweep_loops.hpp"

namespace wallheat {
namespace {

struct Vectors {
  using Values = __m512d;
  static constexpr bool skips_masks = false;
  /// Loaded into the mask register by itself, as in cpu/sweep_avx512.cpp; the second byte means
  /// nothing.
  static __mmask8 mask(const std::uint16_t* masks, int row, std::ptrdiff_t) {
    __mmask8 lanes_of_row = 0;
    asm("kmovw %1, %0"
        : "=Yk"(lanes_of_row)
        : "m"(*(reinterpret_cast<const char(*)[2]>(reinterpret_cast<const char*>(masks) + row))));
    return lanes_of_row;
  }
  static Values add(__mmask8 mask, Values one, Values other) {
    return _mm512_mask_add_pd(one, mask, one, other);
  }
  static Values subtract(__mmask8 mask, Values one, Values other) {
    return _mm512_mask_sub_pd(other, mask, one, other);
  }
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
