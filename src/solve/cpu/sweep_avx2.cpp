#include <immintrin.h>

#include "solve/cpu/fused_sweeps.hpp"

namespace wallheat {
namespace {

// All-ones words for the lanes whose bit is set in a half of a block's mask.
alignas(32) constexpr long long lane_masks[16][4] = {
    {0, 0, 0, 0},   {-1, 0, 0, 0},   {0, -1, 0, 0},   {-1, -1, 0, 0},
    {0, 0, -1, 0},  {-1, 0, -1, 0},  {0, -1, -1, 0},  {-1, -1, -1, 0},
    {0, 0, 0, -1},  {-1, 0, 0, -1},  {0, -1, 0, -1},  {-1, -1, 0, -1},
    {0, 0, -1, -1}, {-1, 0, -1, -1}, {0, -1, -1, -1}, {-1, -1, -1, -1}};

struct Avx2 {
  using Type = __m256d;
  static constexpr int lanes = 4;
  static constexpr int levels = 2;  // more of them would not fit the registers

  static Type zero() { return _mm256_setzero_pd(); }
  static Type load(const double* from) { return _mm256_load_pd(from); }
  static void store(double* to, Type value) { _mm256_store_pd(to, value); }
  static Type add(Type one, Type other) { return _mm256_add_pd(one, other); }
  static Type times(double factor, Type value) {
    return _mm256_mul_pd(_mm256_set1_pd(factor), value);
  }
  static Type larger(Type one, Type other) { return _mm256_max_pd(one, other); }
  static Type distance(Type one, Type other) {
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(one, other));
  }
  static double largest_lane(Type value) {
    alignas(32) double lane[lanes];
    store(lane, value);
    double result = 0;
    for (const double each : lane) result = each > result ? each : result;
    return result;
  }

  static Type left(Type before, Type here) {
    return _mm256_shuffle_pd(middle(before, here), here, 0b0101);
  }
  static Type right(Type here, Type after) {
    return _mm256_shuffle_pd(here, middle(here, after), 0b0101);
  }

  static Type mask(const std::uint32_t* word, int level, int vector) {
    const auto* mask = lane_masks[*word >> (8 * level + lanes * vector) & 15U];
    return _mm256_castsi256_pd(_mm256_load_si256(reinterpret_cast<const __m256i*>(mask)));
  }
  static Type select(Type mask, Type yes, Type no) { return _mm256_blendv_pd(no, yes, mask); }

 private:
  /// The last two of one and the first two of the next.
  static Type middle(Type one, Type next) { return _mm256_permute2f128_pd(one, next, 0x21); }
};

}  // namespace

Sweeps avx2_sweeps() { return sweeps_of<Avx2>(); }

}  // namespace wallheat
