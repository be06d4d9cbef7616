#include <immintrin.h>

#include "solve/sweep.hpp"

namespace wallheat {
namespace {

constexpr std::size_t lanes = 4;

// All-ones words for the lanes whose bit is set in a half of a block's mask.
alignas(32) constexpr long long lane_masks[16][lanes] = {
    {0, 0, 0, 0},  {-1, 0, 0, 0},  {0, -1, 0, 0},  {-1, -1, 0, 0},
    {0, 0, -1, 0}, {-1, 0, -1, 0}, {0, -1, -1, 0}, {-1, -1, -1, 0},
    {0, 0, 0, -1}, {-1, 0, 0, -1}, {0, -1, 0, -1}, {-1, -1, 0, -1},
    {0, 0, -1, -1}, {-1, 0, -1, -1}, {0, -1, -1, -1}, {-1, -1, -1, -1}};

__m256i lane_mask(unsigned bits) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(lane_masks[bits]));
}

__m256d updated(const double* cell, std::size_t stride) {
  const __m256d left = _mm256_loadu_pd(cell - 1);
  const __m256d right = _mm256_loadu_pd(cell + 1);
  const __m256d up = _mm256_load_pd(cell - stride);
  const __m256d down = _mm256_load_pd(cell + stride);
  const __m256d sum = _mm256_add_pd(_mm256_add_pd(_mm256_add_pd(left, right), up), down);
  return _mm256_mul_pd(_mm256_set1_pd(0.25), sum);
}

void sweep(const double* from, double* to, const ActiveBlocks& blocks) {
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const double* source = from + blocks.offset[i];
    double* target = to + blocks.offset[i];
    const unsigned mask = blocks.mask[i];
    const __m256d low = updated(source, blocks.stride);
    const __m256d high = updated(source + lanes, blocks.stride);
    if (mask == 0xff) {
      _mm256_store_pd(target, low);
      _mm256_store_pd(target + lanes, high);
    } else {
      _mm256_maskstore_pd(target, lane_mask(mask & 15), low);
      _mm256_maskstore_pd(target + lanes, lane_mask(mask >> 4), high);
    }
  }
}

double sweep_with_delta(const double* from, double* to, const ActiveBlocks& blocks) {
  const __m256d sign = _mm256_set1_pd(-0.0);
  __m256d largest = _mm256_setzero_pd();
  for (std::size_t i = 0; i < blocks.count; ++i) {
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t offset = blocks.offset[i] + half * lanes;
      const __m256i mask = lane_mask((blocks.mask[i] >> (half * lanes)) & 15U);
      const __m256d value = updated(from + offset, blocks.stride);
      const __m256d change = _mm256_andnot_pd(sign, _mm256_sub_pd(value, _mm256_load_pd(from + offset)));
      largest = _mm256_max_pd(largest, _mm256_and_pd(change, _mm256_castsi256_pd(mask)));
      _mm256_maskstore_pd(to + offset, mask, value);
    }
  }
  alignas(32) double lane[lanes];
  _mm256_store_pd(lane, largest);
  double delta = 0;
  for (const double value : lane) delta = value > delta ? value : delta;
  return delta;
}

}  // namespace

Sweeps avx2_sweeps() { return {sweep, sweep_with_delta}; }

}  // namespace wallheat
