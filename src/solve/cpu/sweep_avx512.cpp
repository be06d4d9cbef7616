#include <immintrin.h>

#include "solve/cpu/skewed_sweeps.hpp"

namespace wallheat {
namespace {

template <Scaling scaling>
__m512d kept(__m512d old) {
  if constexpr (kept_factor(scaling) == 1) return old;
  return _mm512_mul_pd(_mm512_set1_pd(kept_factor(scaling)), old);
}

/// Walks along a row block by block. Left and right neighbours are shifted out of the block and its
/// neighbours, which are in registers, as an unaligned load would read two cache lines.
template <Scaling scaling>
class Walk {
 public:
  explicit Walk(const Place& place)
      : place_(place),
        before_(_mm512_load_pd(place.cell() - block_width)),
        block_(_mm512_load_pd(place.cell())) {}

  // A whole block is stored, as the next sweep's load would have to wait for a masked store.
  void masked(__mmask8 mask) {
    const __m512d sum = sum_of_neighbours();
    const __m512d old = kept<scaling>(before_);
    if constexpr (sum_factor(scaling) == 1) {
      store(_mm512_mask_mov_pd(old, mask, sum));
    } else {
      store(_mm512_mask_mul_pd(old, mask, _mm512_set1_pd(sum_factor(scaling)), sum));
    }
  }

  void full() { store(updated()); }

 protected:
  [[nodiscard]] __m512d old() const { return block_; }

  /// The new values of this block; goes on to the next, except for the place.
  __m512d updated() {
    const __m512d sum = sum_of_neighbours();
    if constexpr (sum_factor(scaling) == 1) return sum;
    return _mm512_mul_pd(_mm512_set1_pd(sum_factor(scaling)), sum);
  }

  void store(__m512d value) {
    _mm512_store_pd(place_.to(), value);
    place_.skip(block_width);
  }

 private:
  __m512d sum_of_neighbours() {
    const __m512d after = _mm512_load_pd(place_.cell() + block_width);
    const __m512d left = shifted<7>(before_, block_);
    const __m512d right = shifted<1>(block_, after);
    before_ = block_;
    block_ = after;
    const __m512d sum = _mm512_add_pd(_mm512_add_pd(left, right), _mm512_load_pd(place_.up()));
    return _mm512_add_pd(sum, _mm512_load_pd(place_.down()));
  }

  /// Eight cells of two neighbouring blocks, from cell `first` of the left one.
  template <int first>
  static __m512d shifted(__m512d left, __m512d right) {
    return _mm512_castsi512_pd(
        _mm512_alignr_epi64(_mm512_castpd_si512(right), _mm512_castpd_si512(left), first));
  }

  Place place_;
  __m512d before_;
  __m512d block_;
};

template <Scaling scaling>
class DeltaWalk : Walk<scaling> {
 public:
  struct Largest {
    __m512d lanes = _mm512_setzero_pd();
    double value() const { return _mm512_reduce_max_pd(lanes); }
  };

  DeltaWalk(const Place& place, Largest& largest) : Walk<scaling>(place), largest_(largest) {}
  void masked(__mmask8 mask) {
    const __m512d old = kept<scaling>(this->old());
    const __m512d value = _mm512_mask_mov_pd(old, mask, this->updated());
    const __m512d change = _mm512_abs_pd(_mm512_sub_pd(value, old));
    largest_.lanes = _mm512_max_pd(largest_.lanes, change);
    this->store(value);
  }
  void full() { masked(0xff); }

 private:
  Largest& largest_;
};

}  // namespace

Sweeps avx512_sweeps() { return sweeps_of<Walk, DeltaWalk>(); }

}  // namespace wallheat
