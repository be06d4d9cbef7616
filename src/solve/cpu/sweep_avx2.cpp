#include <immintrin.h>

#include "solve/cpu/skewed_sweeps.hpp"

namespace wallheat {
namespace {

constexpr std::size_t lanes = 4;

// All-ones words for the lanes whose bit is set in a half of a block's mask.
alignas(32) constexpr long long lane_masks[16][lanes] = {
    {0, 0, 0, 0},   {-1, 0, 0, 0},   {0, -1, 0, 0},   {-1, -1, 0, 0},
    {0, 0, -1, 0},  {-1, 0, -1, 0},  {0, -1, -1, 0},  {-1, -1, -1, 0},
    {0, 0, 0, -1},  {-1, 0, 0, -1},  {0, -1, 0, -1},  {-1, -1, 0, -1},
    {0, 0, -1, -1}, {-1, 0, -1, -1}, {0, -1, -1, -1}, {-1, -1, -1, -1}};

__m256d lane_mask(unsigned bits) {
  return _mm256_castsi256_pd(_mm256_load_si256(reinterpret_cast<const __m256i*>(lane_masks[bits])));
}

/// Half a block.
template <Scaling scaling>
__m256d updated(const Place& place) {
  const __m256d left = _mm256_loadu_pd(place.cell() - 1);
  const __m256d right = _mm256_loadu_pd(place.cell() + 1);
  const __m256d up = _mm256_load_pd(place.up());
  const __m256d down = _mm256_load_pd(place.down());
  const __m256d sum = _mm256_add_pd(_mm256_add_pd(_mm256_add_pd(left, right), up), down);
  if constexpr (sum_factor(scaling) == 1) return sum;
  return _mm256_mul_pd(_mm256_set1_pd(sum_factor(scaling)), sum);
}

template <Scaling scaling>
__m256d kept(const Place& place) {
  const __m256d old = _mm256_load_pd(place.cell());
  if constexpr (kept_factor(scaling) == 1) return old;
  return _mm256_mul_pd(_mm256_set1_pd(kept_factor(scaling)), old);
}

template <Scaling scaling>
class Walk {
 public:
  explicit Walk(const Place& place) : place_(place) {}
  void masked(unsigned mask) {
    half(mask & 15U);
    half(mask >> 4);
  }
  void full() {
    half();
    half();
  }

 private:
  void half() { store(updated<scaling>(place_)); }
  void half(unsigned mask) {
    store(_mm256_blendv_pd(kept<scaling>(place_), updated<scaling>(place_), lane_mask(mask)));
  }
  void store(__m256d value) {
    _mm256_store_pd(place_.to(), value);
    place_.skip(lanes);
  }

  Place place_;
};

template <Scaling scaling>
class DeltaWalk {
 public:
  class Largest {
   public:
    void take(__m256d change) { lanes_ = _mm256_max_pd(lanes_, change); }
    [[nodiscard]] double value() const {
      alignas(32) double lane[lanes];
      _mm256_store_pd(lane, lanes_);
      double result = 0;
      for (const double each : lane) result = each > result ? each : result;
      return result;
    }

   private:
    __m256d lanes_ = _mm256_setzero_pd();
  };

  DeltaWalk(const Place& place, Largest& largest) : place_(place), largest_(largest) {}
  void masked(unsigned mask) {
    half(mask & 15U);
    half(mask >> 4);
  }
  void full() { masked(0xff); }

 private:
  void half(unsigned mask) {
    const __m256d old = kept<scaling>(place_);
    const __m256d value = _mm256_blendv_pd(old, updated<scaling>(place_), lane_mask(mask));
    largest_.take(_mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(value, old)));
    _mm256_store_pd(place_.to(), value);
    place_.skip(lanes);
  }

  Place place_;
  Largest& largest_;
};

}  // namespace

Sweeps avx2_sweeps() { return sweeps_of<Walk, DeltaWalk>(); }

}  // namespace wallheat
