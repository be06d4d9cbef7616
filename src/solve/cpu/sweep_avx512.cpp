#include <immintrin.h>

#include "solve/cpu/fused_sweeps.hpp"

namespace wallheat {
namespace {

struct Avx512 {
  using Type = __m512d;
  using Sides = ShiftedSides<Avx512>;
  static constexpr int registers = 1;
  static constexpr int lanes = 8;
  static constexpr int levels = 4;
  static constexpr bool even_first = false;
  static constexpr bool reads_target = false;  // it would be slower

  static Type zero() { return _mm512_setzero_pd(); }
  static Type load(const double* from) { return _mm512_load_pd(from); }
  static void store(double* to, Type value) { _mm512_store_pd(to, value); }
  static Type add(Type one, Type other) { return _mm512_add_pd(one, other); }
  static Type subtract(Type one, Type other) { return _mm512_sub_pd(one, other); }
  static Type product(Type one, Type other) { return _mm512_mul_pd(one, other); }
  static Type times(double factor, Type value) {
    return _mm512_mul_pd(_mm512_set1_pd(factor), value);
  }
  static Type larger(Type one, Type other) { return _mm512_max_pd(one, other); }
  static Type distance(Type one, Type other) { return _mm512_abs_pd(_mm512_sub_pd(one, other)); }
  static double largest_lane(Type value) { return _mm512_reduce_max_pd(value); }

  /// The right one's left neighbours.
  static Type left(Type before, Type here) { return shifted<7>(before, here); }
  static Type right(Type here, Type after) { return shifted<1>(here, after); }

  static const std::uint32_t* masks(const std::uint32_t* word) { return word; }
  /// Loaded into the mask register by itself: by way of another register, as the compiler does it,
  /// masked blocks take a tenth longer. The second byte means nothing for eight lanes.
  static __mmask8 mask(const std::uint32_t* word, int level, int) {
    __mmask8 lanes_of_level = 0;
    asm("kmovw %1, %0"
        : "=Yk"(lanes_of_level)
        : "m"(*(reinterpret_cast<const char(*)[2]>(reinterpret_cast<const char*>(word) + level))));
    return lanes_of_level;
  }
  static Type select(__mmask8 mask, Type yes, Type no) { return _mm512_mask_mov_pd(no, mask, yes); }

 private:
  /// Eight cells of two neighbouring blocks, from cell `first` of the left one.
  template <int first>
  static Type shifted(Type left, Type right) {
    return _mm512_castsi512_pd(
        _mm512_alignr_epi64(_mm512_castpd_si512(right), _mm512_castpd_si512(left), first));
  }
};

}  // namespace

Sweeps avx512_sweeps() { return sweeps_of<Avx512>(); }

}  // namespace wallheat
