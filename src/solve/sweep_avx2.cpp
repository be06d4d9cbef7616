#include <immintrin.h>

#include "solve/skewed_sweeps.hpp"

namespace wallheat {
namespace {

constexpr std::size_t lanes = 4;

// All-ones words for the lanes whose bit is set in a half of a block's mask.
alignas(32) constexpr long long lane_masks[16][lanes] = {
    {0, 0, 0, 0},   {-1, 0, 0, 0},   {0, -1, 0, 0},   {-1, -1, 0, 0},
    {0, 0, -1, 0},  {-1, 0, -1, 0},  {0, -1, -1, 0},  {-1, -1, -1, 0},
    {0, 0, 0, -1},  {-1, 0, 0, -1},  {0, -1, 0, -1},  {-1, -1, 0, -1},
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

class Walk {
 public:
  Walk(const double* from, double* to, std::size_t stride)
      : from_(from), to_(to), stride_(stride) {}
  void masked(unsigned mask) {
    _mm256_maskstore_pd(to_, lane_mask(mask & 15U), updated(from_, stride_));
    _mm256_maskstore_pd(to_ + lanes, lane_mask(mask >> 4), updated(from_ + lanes, stride_));
    advance();
  }
  void full() {
    _mm256_store_pd(to_, updated(from_, stride_));
    _mm256_store_pd(to_ + lanes, updated(from_ + lanes, stride_));
    advance();
  }

 private:
  void advance() {
    from_ += block_width;
    to_ += block_width;
  }

  const double* from_;
  double* to_;
  std::size_t stride_;
};

class DeltaWalk {
 public:
  class Largest {
   public:
    void take(__m256d change) { lanes_ = _mm256_max_pd(lanes_, change); }
    double value() const {
      alignas(32) double lane[lanes];
      _mm256_store_pd(lane, lanes_);
      double result = 0;
      for (const double each : lane) result = each > result ? each : result;
      return result;
    }

   private:
    __m256d lanes_ = _mm256_setzero_pd();
  };

  DeltaWalk(const double* from, double* to, std::size_t stride, Largest& largest)
      : from_(from), to_(to), stride_(stride), largest_(largest) {}
  void masked(unsigned mask) {
    half(lane_mask(mask & 15U));
    half(lane_mask(mask >> 4));
  }
  void full() { masked(0xff); }

 private:
  void half(__m256i mask) {
    const __m256d value = updated(from_, stride_);
    const __m256d sign = _mm256_set1_pd(-0.0);
    const __m256d change = _mm256_andnot_pd(sign, _mm256_sub_pd(value, _mm256_load_pd(from_)));
    largest_.take(_mm256_and_pd(change, _mm256_castsi256_pd(mask)));
    _mm256_maskstore_pd(to_, mask, value);
    from_ += lanes;
    to_ += lanes;
  }

  const double* from_;
  double* to_;
  std::size_t stride_;
  Largest& largest_;
};

}  // namespace

Sweeps avx2_sweeps() { return {skewed_sweeps<Walk>, sweep_with_delta<DeltaWalk>}; }

}  // namespace wallheat
