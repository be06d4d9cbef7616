#include <immintrin.h>

#include "solve/skewed_sweeps.hpp"

namespace wallheat {
namespace {

/// Walks along a row block by block. Left and right neighbours are shifted out of the block and its
/// neighbours, which are in registers, as an unaligned load would read two cache lines.
class Window {
 public:
  Window(const double* cell, std::size_t stride)
      : cell_(cell),
        stride_(stride),
        before_(_mm512_load_pd(cell - block_width)),
        block_(_mm512_load_pd(cell)) {}

  __m512d old() const { return block_; }

  /// The new values of this block; goes on to the next.
  __m512d advance() {
    const __m512d after = _mm512_load_pd(cell_ + block_width);
    const __m512d left = shifted<7>(before_, block_);
    const __m512d right = shifted<1>(block_, after);
    const __m512d up = _mm512_load_pd(cell_ - stride_);
    const __m512d down = _mm512_load_pd(cell_ + stride_);
    before_ = block_;
    block_ = after;
    cell_ += block_width;
    const __m512d sum = _mm512_add_pd(_mm512_add_pd(_mm512_add_pd(left, right), up), down);
    return _mm512_mul_pd(_mm512_set1_pd(0.25), sum);
  }

 private:
  /// Eight cells of two neighbouring blocks, from cell `first` of the left one.
  template <int first>
  static __m512d shifted(__m512d left, __m512d right) {
    return _mm512_castsi512_pd(
        _mm512_alignr_epi64(_mm512_castpd_si512(right), _mm512_castpd_si512(left), first));
  }

  const double* cell_;
  std::size_t stride_;
  __m512d before_;
  __m512d block_;
};

class Walk {
 public:
  Walk(const double* from, double* to, std::size_t stride) : window_(from, stride), to_(to) {}
  void masked(__mmask8 mask) {
    _mm512_mask_store_pd(to_, mask, window_.advance());
    to_ += block_width;
  }
  void full() {
    _mm512_store_pd(to_, window_.advance());
    to_ += block_width;
  }

 private:
  Window window_;
  double* to_;
};

class DeltaWalk {
 public:
  struct Largest {
    __m512d lanes = _mm512_setzero_pd();
    double value() const { return _mm512_reduce_max_pd(lanes); }
  };

  DeltaWalk(const double* from, double* to, std::size_t stride, Largest& largest)
      : window_(from, stride), to_(to), largest_(largest) {}
  void masked(__mmask8 mask) {
    const __m512d old = window_.old();
    const __m512d value = window_.advance();
    const __m512d change = _mm512_abs_pd(_mm512_sub_pd(value, old));
    largest_.lanes = _mm512_mask_max_pd(largest_.lanes, mask, largest_.lanes, change);
    _mm512_mask_store_pd(to_, mask, value);
    to_ += block_width;
  }
  void full() { masked(0xff); }

 private:
  Window window_;
  double* to_;
  Largest& largest_;
};

}  // namespace

Sweeps avx512_sweeps() { return {skewed_sweeps<Walk>, sweep_with_delta<DeltaWalk>}; }

}  // namespace wallheat
