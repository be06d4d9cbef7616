#include <immintrin.h>

#include "solve/skewed_sweeps.hpp"

namespace wallheat {
namespace {

/// Walks along a row block by block. Left and right neighbours are shifted out of the block and its
/// neighbours, which are in registers, as an unaligned load would read two cache lines.
class Window {
 public:
  Window(const double* cell, std::size_t stride)
      : cell_(cell), stride_(stride), before_(_mm512_load_pd(cell - block_width)), block_(_mm512_load_pd(cell)) {}

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

struct Row {
  // A function of its own keeps its pointers in registers; unrolled, the blocks change names instead of
  // registers (each was worth about a tenth).
  [[gnu::noinline]] static void update(const double* from, double* to, std::size_t stride, const Segment* begin, const Segment* end) {
    for (const Segment* next = begin; next != end; ++next) {
      const Segment segment = *next;
      Window window(from + segment.offset, stride);
      double* target = to + segment.offset;
      _mm512_mask_store_pd(target, segment.first, window.advance());
#pragma GCC unroll 4
      for (unsigned block = 0; block < segment.full; ++block) {
        target += block_width;
        _mm512_store_pd(target, window.advance());
      }
      if (segment.last != 0) _mm512_mask_store_pd(target + block_width, segment.last, window.advance());
    }
  }
};

class Delta {
 public:
  void update(const double* from, double* to, std::size_t stride, const Segment* begin, const Segment* end) {
    for (const Segment* next = begin; next != end; ++next) {
      const Segment segment = *next;
      Window window(from + segment.offset, stride);
      double* target = to + segment.offset;
      store(target, segment.first, window);
      for (unsigned block = 0; block < segment.full; ++block) {
        target += block_width;
        store(target, 0xff, window);
      }
      if (segment.last != 0) store(target + block_width, segment.last, window);
    }
  }
  double largest() const { return _mm512_reduce_max_pd(largest_); }

 private:
  void store(double* target, __mmask8 mask, Window& window) {
    const __m512d old = window.old();
    const __m512d value = window.advance();
    largest_ = _mm512_mask_max_pd(largest_, mask, largest_, _mm512_abs_pd(_mm512_sub_pd(value, old)));
    _mm512_mask_store_pd(target, mask, value);
  }

  __m512d largest_ = _mm512_setzero_pd();
};

}  // namespace

Sweeps avx512_sweeps() { return {skewed_sweeps<Row>, sweep_with_delta<Delta>}; }

}  // namespace wallheat
