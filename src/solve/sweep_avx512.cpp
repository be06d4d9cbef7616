#include <immintrin.h>

#include "solve/sweep.hpp"

namespace wallheat {
namespace {

__m512d updated(const double* cell, std::size_t stride) {
  const __m512d left = _mm512_loadu_pd(cell - 1);
  const __m512d right = _mm512_loadu_pd(cell + 1);
  const __m512d up = _mm512_load_pd(cell - stride);
  const __m512d down = _mm512_load_pd(cell + stride);
  const __m512d sum = _mm512_add_pd(_mm512_add_pd(_mm512_add_pd(left, right), up), down);
  return _mm512_mul_pd(_mm512_set1_pd(0.25), sum);
}

void sweep(const double* from, double* to, const ActiveBlocks& blocks) {
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const std::size_t offset = blocks.offset[i];
    _mm512_mask_store_pd(to + offset, blocks.mask[i], updated(from + offset, blocks.stride));
  }
}

double sweep_with_delta(const double* from, double* to, const ActiveBlocks& blocks) {
  __m512d largest = _mm512_setzero_pd();
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const std::size_t offset = blocks.offset[i];
    const __m512d value = updated(from + offset, blocks.stride);
    const __m512d change = _mm512_abs_pd(_mm512_sub_pd(value, _mm512_load_pd(from + offset)));
    largest = _mm512_mask_max_pd(largest, blocks.mask[i], largest, change);
    _mm512_mask_store_pd(to + offset, blocks.mask[i], value);
  }
  return _mm512_reduce_max_pd(largest);
}

}  // namespace

Sweeps avx512_sweeps() { return {sweep, sweep_with_delta}; }

}  // namespace wallheat
