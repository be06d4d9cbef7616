#include <immintrin.h>

#include "solve/skewed_sweeps.hpp"

namespace wallheat {
namespace {

constexpr std::size_t lanes = 4;

// All-ones words for the lanes whose bit is set in a half of a block's mask.
alignas(32) constexpr long long lane_masks[16][lanes] = {
    {0, 0, 0, 0},  {-1, 0, 0, 0},  {0, -1, 0, 0},  {-1, -1, 0, 0},
    {0, 0, -1, 0}, {-1, 0, -1, 0}, {0, -1, -1, 0}, {-1, -1, -1, 0},
    {0, 0, 0, -1}, {-1, 0, 0, -1}, {0, -1, 0, -1}, {-1, -1, 0, -1},
    {0, 0, -1, -1}, {-1, 0, -1, -1}, {0, -1, -1, -1}, {-1, -1, -1, -1}};

__m256i lane_mask(unsigned bits) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(lane_masks[bits])); }

__m256d updated(const double* cell, std::size_t stride) {
  const __m256d left = _mm256_loadu_pd(cell - 1);
  const __m256d right = _mm256_loadu_pd(cell + 1);
  const __m256d up = _mm256_load_pd(cell - stride);
  const __m256d down = _mm256_load_pd(cell + stride);
  const __m256d sum = _mm256_add_pd(_mm256_add_pd(_mm256_add_pd(left, right), up), down);
  return _mm256_mul_pd(_mm256_set1_pd(0.25), sum);
}

struct Row {
  static void update(const double* from, double* to, std::size_t stride, const Segment* begin, const Segment* end) {
    for (const Segment* next = begin; next != end; ++next) {
      const Segment segment = *next;
      const double* source = from + segment.offset;
      double* target = to + segment.offset;
      store_masked(source, target, stride, segment.first);
      for (std::size_t half = 0; half < 2U * segment.full; ++half) {
        const std::size_t cell = block_width + half * lanes;
        _mm256_store_pd(target + cell, updated(source + cell, stride));
      }
      if (segment.last != 0) {
        const std::size_t cell = (segment.full + 1U) * block_width;
        store_masked(source + cell, target + cell, stride, segment.last);
      }
    }
  }

 private:
  static void store_masked(const double* source, double* target, std::size_t stride, unsigned mask) {
    _mm256_maskstore_pd(target, lane_mask(mask & 15U), updated(source, stride));
    _mm256_maskstore_pd(target + lanes, lane_mask(mask >> 4), updated(source + lanes, stride));
  }
};

class Delta {
 public:
  void update(const double* from, double* to, std::size_t stride, const Segment* begin, const Segment* end) {
    for (const Segment* next = begin; next != end; ++next) {
      const Segment segment = *next;
      std::size_t cell = segment.offset;
      store(from + cell, to + cell, stride, segment.first);
      for (unsigned block = 0; block < segment.full; ++block) {
        cell += block_width;
        store(from + cell, to + cell, stride, 0xff);
      }
      cell += block_width;
      if (segment.last != 0) store(from + cell, to + cell, stride, segment.last);
    }
  }

  double largest() const {
    alignas(32) double lane[lanes];
    _mm256_store_pd(lane, largest_);
    double result = 0;
    for (const double value : lane) result = value > result ? value : result;
    return result;
  }

 private:
  void store(const double* source, double* target, std::size_t stride, unsigned mask) {
    store_half(source, target, stride, lane_mask(mask & 15U));
    store_half(source + lanes, target + lanes, stride, lane_mask(mask >> 4));
  }
  void store_half(const double* source, double* target, std::size_t stride, __m256i mask) {
    const __m256d value = updated(source, stride);
    const __m256d sign = _mm256_set1_pd(-0.0);
    const __m256d change = _mm256_andnot_pd(sign, _mm256_sub_pd(value, _mm256_load_pd(source)));
    largest_ = _mm256_max_pd(largest_, _mm256_and_pd(change, _mm256_castsi256_pd(mask)));
    _mm256_maskstore_pd(target, mask, value);
  }

  __m256d largest_ = _mm256_setzero_pd();
};

}  // namespace

Sweeps avx2_sweeps() { return {skewed_sweeps<Row>, sweep_with_delta<Delta>}; }

}  // namespace wallheat
