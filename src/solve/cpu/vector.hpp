#pragma once

#include <cstdint>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "solve/cpu/sweep.hpp"

// Vectors of doubles, for the files that are compiled once per instruction set. All declarations
// are in an unnamed namespace; sweep.hpp explains why.

namespace wallheat {
namespace {

/// Table of lane masks: element i has all bits set in those lanes whose bit is set in i.
template <int lanes>
struct LaneMasks {
  constexpr LaneMasks() {
    for (int set = 0; set < 1 << lanes; ++set)
      for (int lane = 0; lane < lanes; ++lane) of[set][lane] = -(set >> lane & 1);
  }
  alignas(8 * lanes) long long of[1 << lanes][lanes] = {};
};

/// Operations on vectors of the width of the instruction set, in the vector types of the compiler.
struct Vector {
#if defined(__AVX512F__)
  static constexpr int lanes = 8;
#elif defined(__AVX2__)
  static constexpr int lanes = 4;
#else
  static constexpr int lanes = 2;
#endif
  using Type [[gnu::vector_size(8 * lanes), gnu::may_alias]] = double;
  using Bits [[gnu::vector_size(8 * lanes), gnu::may_alias]] = long long;

  static Type load(const double* from) { return *reinterpret_cast<const Type*>(from); }
  static void store(double* to, Type value) { *reinterpret_cast<Type*>(to) = value; }

  static Type magnitude(Type value) {
    constexpr long long all_but_the_sign = 0x7fff'ffff'ffff'ffff;
    return reinterpret_cast<Type>(reinterpret_cast<Bits>(value) & all_but_the_sign);
  }
  /// Returns the larger of two magnitudes by lane. They are compared as integers, where NaN is
  /// larger than all numbers.
  static Type larger(Type one, Type other) {
    return reinterpret_cast<Bits>(one) > reinterpret_cast<Bits>(other) ? one : other;
  }
  static double largest_lane(Type value) {
    for (int lane = 1; lane < lanes; ++lane) {
      Type next = value;
      next[0] = value[lane];
      value = larger(value, next);
    }
    return value[0];
  }

#ifdef __AVX512F__
  /// Returns `here`, shifted by one lane to make room for the last lane of `before`. GCC generates
  /// a slower instruction for a shuffle.
  static Type left(Type before, Type here) { return shifted<lanes - 1>(before, here); }
  static Type right(Type here, Type after) { return shifted<1>(here, after); }

  /// Returns the mask of the interior cells from a word of a masked block (see BlockRun). It is
  /// loaded directly into a mask register: through a general register, as compilers do it, masked
  /// blocks take a tenth longer. With eight lanes, the second loaded byte is not used.
  static __mmask8 mask(const std::uint64_t* word, int level, int vector) {
    __mmask8 lanes_of_level = 0;
    const char* byte = reinterpret_cast<const char*>(word) + max_block_width / 8 * level + vector;
    asm("kmovw %1, %0" : "=Yk"(lanes_of_level) : "m"(*reinterpret_cast<const char(*)[2]>(byte)));
    return lanes_of_level;
  }
  static Type select(__mmask8 mask, Type yes, Type no) { return _mm512_mask_mov_pd(no, mask, yes); }

 private:
  template <int first>
  static Type shifted(Type left, Type right) {
    return reinterpret_cast<Type>(_mm512_alignr_epi64(reinterpret_cast<__m512i>(right),
                                                      reinterpret_cast<__m512i>(left), first));
  }
#else
#ifdef __AVX2__
  // A blend and a rotation, because the two shuffles that GCC generates for a shift would compete
  // with the additions for the ports of the processor.
  static Type left(Type before, Type here) {
    const Type last = __builtin_shufflevector(here, before, 0, 1, 2, 7);
    return __builtin_shufflevector(last, last, 3, 0, 1, 2);
  }
  static Type right(Type here, Type after) {
    const Type first = __builtin_shufflevector(here, after, 4, 1, 2, 3);
    return __builtin_shufflevector(first, first, 1, 2, 3, 0);
  }
#else
  static Type left(Type before, Type here) { return __builtin_shufflevector(before, here, 1, 2); }
  static Type right(Type here, Type after) { return __builtin_shufflevector(here, after, 1, 2); }
#endif

  /// Returns the mask of the interior cells from a word of a masked block (see BlockRun): all bits
  /// of a lane, or none.
  static Bits mask(const std::uint64_t* word, int level, int vector) {
    constexpr unsigned all = (1U << lanes) - 1;
    static constexpr LaneMasks<lanes> masks;
    const auto first = static_cast<int>(max_block_width) * level + lanes * vector;
    return *reinterpret_cast<const Bits*>(masks.of[*word >> first & all]);
  }
  static Type select(Bits mask, Type yes, Type no) {
    return reinterpret_cast<Type>((reinterpret_cast<Bits>(yes) & mask) |
                                  (reinterpret_cast<Bits>(no) & ~mask));
  }
#endif
};

}  // namespace
}  // namespace wallheat
