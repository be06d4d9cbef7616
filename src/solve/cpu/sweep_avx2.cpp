#include <immintrin.h>

#include "solve/cpu/fused_sweeps.hpp"

namespace wallheat {
namespace {

// A value is a block: a vector of its cells 0, 2, 4, 6 and one of 1, 3, 5, 7. The right neighbours
// of the even cells and the left ones of the odd cells are such vectors, too; the others take a
// rotation and a blend. In the usual order each vector would take three shuffles.
struct Avx2 {
  struct Type {
    __m256d even;
    __m256d odd;
  };
  static constexpr int registers = 2;
  static constexpr int lanes = 8;
  static constexpr int levels = 2;  // four are no faster, and slower with a source
  static constexpr bool even_first = true;
  static constexpr bool reads_target = true;  // else fixed cells cost a multiplication

  /// Adds left and right neighbours along a row. Only rotations are kept in registers: the loads
  /// cost less than what it takes to keep more.
  class Sides {
   public:
    Sides() = default;
    [[gnu::always_inline]] explicit Sides(const double* cell)
        : odd_before_(rotated_odd(cell - lanes)), even_here_(rotated_even(cell)) {}

    [[nodiscard, gnu::always_inline]] static Type here(const double* cell) { return load(cell); }
    [[gnu::always_inline]] Type next(const double* cell) {
      const __m256d odd_here = rotated_odd(cell);
      const __m256d even_after = rotated_even(cell + lanes);
      const Type far{_mm256_blend_pd(odd_here, odd_before_, 0b0001),
                     _mm256_blend_pd(even_here_, even_after, 0b1000)};
      odd_before_ = odd_here;
      even_here_ = even_after;
      const Type near{_mm256_load_pd(cell + lanes / 2), _mm256_load_pd(cell)};
      return add(far, near);
    }

   private:
    /// Cells 7, 1, 3, 5.
    static __m256d rotated_odd(const double* cell) {
      return _mm256_permute4x64_pd(_mm256_load_pd(cell + lanes / 2), 0b10'01'00'11);
    }
    /// Cells 2, 4, 6, 0.
    static __m256d rotated_even(const double* cell) {
      return _mm256_permute4x64_pd(_mm256_load_pd(cell), 0b00'11'10'01);
    }

    __m256d odd_before_;
    __m256d even_here_;
  };

  /// Two kinds of it, or the compiler would make the additions of a ceiling for one half only.
  static Type zero() { return {_mm256_setzero_pd(), _mm256_set1_pd(-0.0)}; }
  static Type load(const double* from) {
    return {_mm256_load_pd(from), _mm256_load_pd(from + lanes / 2)};
  }
  static void store(double* to, Type value) {
    _mm256_store_pd(to, value.even);
    _mm256_store_pd(to + lanes / 2, value.odd);
  }
  static Type add(Type one, Type other) {
    return {_mm256_add_pd(one.even, other.even), _mm256_add_pd(one.odd, other.odd)};
  }
  static Type subtract(Type one, Type other) {
    return {_mm256_sub_pd(one.even, other.even), _mm256_sub_pd(one.odd, other.odd)};
  }
  static Type product(Type one, Type other) {
    return {_mm256_mul_pd(one.even, other.even), _mm256_mul_pd(one.odd, other.odd)};
  }
  static Type times(double factor, Type value) {
    const __m256d all = _mm256_set1_pd(factor);
    return {_mm256_mul_pd(all, value.even), _mm256_mul_pd(all, value.odd)};
  }
  static Type larger(Type one, Type other) {
    return {_mm256_max_pd(one.even, other.even), _mm256_max_pd(one.odd, other.odd)};
  }
  static Type distance(Type one, Type other) {
    const __m256d sign = _mm256_set1_pd(-0.0);
    return {_mm256_andnot_pd(sign, _mm256_sub_pd(one.even, other.even)),
            _mm256_andnot_pd(sign, _mm256_sub_pd(one.odd, other.odd))};
  }
  static double largest_lane(Type value) {
    alignas(32) double lane[lanes];
    store(lane, value);
    double result = 0;
    for (const double each : lane) result = each > result ? each : result;
    return result;
  }

  /// The masks of all levels, turned round: their bits say which cells are fixed. A blend looks at
  /// the highest bit of each lane. Each lane is shifted so that it has there what the last level
  /// says of its odd cell; of its even cell, one bit lower; the level before, eight bits lower.
  static __m256i masks(const std::uint32_t* word) {
    const __m256i interior = _mm256_set1_epi32(static_cast<int>(*word));
    const __m256i fixed = _mm256_xor_si256(interior, _mm256_set1_epi32(-1));
    constexpr int unused = 8 * (most_levels - levels);
    return _mm256_sllv_epi32(
        fixed, _mm256_setr_epi32(0, unused + 6, 0, unused + 4, 0, unused + 2, 0, unused));
  }
  static Type mask(__m256i masks, int level, int /*vector*/) {
    const __m256i odd = _mm256_slli_epi32(masks, 8 * (levels - 1 - level));
    return {_mm256_castsi256_pd(_mm256_add_epi32(odd, odd)), _mm256_castsi256_pd(odd)};
  }
  static Type select(Type fixed, Type value, Type old) {
    return {_mm256_blendv_pd(value.even, old.even, fixed.even),
            _mm256_blendv_pd(value.odd, old.odd, fixed.odd)};
  }
};

}  // namespace

Sweeps avx2_sweeps() { return sweeps_of<Avx2>(); }

}  // namespace wallheat
