#pragma once

#include "solve/fastforward/sweeps.hpp"
#include "solve/stencil.hpp"

// For the files of the instruction sets alone: the loops, which the compiler vectorises.
// Everything is in an unnamed namespace, for the reason that cpu/sweep.hpp gives.

namespace wallheat {
// NOLINTBEGIN(misc-definitions-in-headers): each of those files is to have code of its own
namespace {

/// Eight words of ones or zeros for each mask of a block: a row is loaded as a vector.
struct Lanes {
  constexpr Lanes() {
    for (std::size_t mask = 0; mask < 256; ++mask)
      for (std::size_t lane = 0; lane < room_block; ++lane)
        of[mask][lane] = std::uint64_t{0} - (mask >> lane & 1U);
  }
  std::uint64_t of[256][room_block] = {};
};
alignas(64) constexpr Lanes lanes{};

/// `yes` where the mask is ones, else `no`; without a branch, which would not become a vector.
[[gnu::always_inline]] inline double select(std::uint64_t mask, double yes, double no) {
  const auto bits = (__builtin_bit_cast(std::uint64_t, yes) & mask) |
                    (__builtin_bit_cast(std::uint64_t, no) & ~mask);
  return __builtin_bit_cast(double, bits);
}

/// Calls body(cell, lane, lane's mask) for all cells of some segments; the mask is ones where
/// the cell is of the room. In full blocks it is a constant.
template <class Body>
[[gnu::always_inline]] inline void for_each_lane(const RoomSegment* begin, const RoomSegment* end,
                                                 Body body) {
  constexpr auto width = static_cast<std::ptrdiff_t>(room_block);
  const auto masked = [=](std::ptrdiff_t cell, const std::uint64_t* mask)
      __attribute__((always_inline)) {
    // Not unrolled, as the compiler would no longer see that the lanes are a vector.
#pragma GCC ivdep
#pragma GCC unroll 1
    for (std::ptrdiff_t lane = 0; lane < width; ++lane) body(cell + lane, lane, mask[lane]);
  };
  for (const RoomSegment* segment = begin; segment != end; ++segment) {
    auto cell = static_cast<std::ptrdiff_t>(segment->cell);
    if (segment->first != 0) masked(cell, lanes.of[segment->first]);
    cell += width;
    const std::ptrdiff_t last = cell + static_cast<std::ptrdiff_t>(segment->full) * width;
    for (; cell < last; cell += width) {
#pragma GCC ivdep
#pragma GCC unroll 1
      for (std::ptrdiff_t lane = 0; lane < width; ++lane)
        body(cell + lane, lane, ~std::uint64_t{0});
    }
    if (segment->last != 0) masked(cell, lanes.of[segment->last]);
  }
}

[[gnu::always_inline]] inline const RoomSegment* end_of(const RoomRows& rows) {
  return rows.segments + rows.begin[rows.rows];
}

template <bool with_source>
RoomChange jacobi(const RoomRows& rows, const double* from, double* to, const double* source) {
  const std::ptrdiff_t stride = rows.stride;
  double largest[room_block] = {};
  double squares[room_block] = {};
  for_each_lane(
      rows.segments, end_of(rows),
      [=, &largest, &squares](std::ptrdiff_t i, std::ptrdiff_t lane, std::uint64_t mask) {
        double sum = neighbour_sum(from[i - 1], from[i + 1], from[i - stride], from[i + stride]);
        if constexpr (with_source) sum += source[i];
        const double value = 0.25 * sum;
        const double difference = value - from[i];
        const double change = select(mask, difference < 0 ? -difference : difference, 0.0);
        largest[lane] = change > largest[lane] ? change : largest[lane];
        squares[lane] += change * change;
        to[i] = select(mask, value, to[i]);
      });
  RoomChange found{0, 0};
  for (const double change : largest)
    found.largest = change > found.largest ? change : found.largest;
  for (const double sum : squares) found.squares += sum;
  return found;
}

RoomChange any_jacobi(const RoomRows& rows, const double* from, double* to, const double* source) {
  return source != nullptr ? jacobi<true>(rows, from, to, source)
                           : jacobi<false>(rows, from, to, source);
}

void copy(const RoomRows& rows, const double* from, double* to) {
  for_each_lane(rows.segments, end_of(rows),
                [=](std::ptrdiff_t i, std::ptrdiff_t, std::uint64_t mask) {
                  to[i] = select(mask, from[i], to[i]);
                });
}

void scale(const RoomRows& rows, double factor, const double* from, double* to) {
  for_each_lane(rows.segments, end_of(rows),
                [=](std::ptrdiff_t i, std::ptrdiff_t, std::uint64_t mask) {
                  to[i] = select(mask, factor * from[i], to[i]);
                });
}

/// Goes along a segment vector by vector with two steps at once. Left and right neighbours are
/// shifted out of vectors in registers, and what the first step makes of a row is at once the lower
/// neighbour for the second.
///
/// `Vectors` has the types Values and Bits, of doubles and words as wide as the processor's
/// registers (GCC and Clang know such types), and shifts: from_left(before, here) and
/// from_right(here, after) are the values a lane to the left or right of `here`.
template <class Vectors, bool with_source>
class PairWalk {
  using Values = typename Vectors::Values;
  using Bits = typename Vectors::Bits;

 public:
  static constexpr std::ptrdiff_t width = sizeof(Values) / sizeof(double);

  PairWalk(const ExpansionFields& fields, std::ptrdiff_t cell, std::ptrdiff_t stride, double factor)
      : even_(fields.even + cell),
        odd_(fields.odd + cell),
        sum_(fields.sum + cell),
        source_(with_source ? fields.source + cell : nullptr),
        stride_(stride),
        factor_(factor),
        odd_before_(load(odd_ - width)),
        odd_here_(load(odd_)),
        even_before_(load(even_ - stride - width)),
        even_here_(load(even_ - stride)) {}

  void full() {
    step([](Values updated, Values, bool) { return updated; });
  }
  /// With the masks of this vector's lanes in the row and in the one above.
  void masked(const std::uint64_t* here, const std::uint64_t* above) {
    step([=](Values updated, Values old, bool second) {
      Bits mask;
      __builtin_memcpy(&mask, second ? above : here, sizeof mask);
      return __builtin_bit_cast(Values, (__builtin_bit_cast(Bits, updated) & mask) |
                                            (__builtin_bit_cast(Bits, old) & ~mask));
    });
  }

 private:
  static Values load(const double* from) {
    Values values;
    __builtin_memcpy(&values, from, sizeof values);
    return values;
  }
  static void store(double* to, Values values) { __builtin_memcpy(to, &values, sizeof values); }

  template <class Choose>
  [[gnu::always_inline]] void step(Choose choose) {
    const Values odd_after = load(odd_ + width);
    const Values odd_above = load(odd_ - stride_);
    const Values even_old = load(even_);
    Values sum =
        Vectors::from_left(odd_before_, odd_here_) + Vectors::from_right(odd_here_, odd_after);
    sum = (sum + odd_above) + load(odd_ + stride_);
    if constexpr (with_source) sum = sum + load(source_);
    const Values even = choose(0.5 * sum - even_old, even_old, false);
    store(even_, even);
    const Values total = load(sum_);
    store(sum_, choose(total + factor_ * even, total, false));

    const Values even_after = load(even_ - stride_ + width);
    sum =
        Vectors::from_left(even_before_, even_here_) + Vectors::from_right(even_here_, even_after);
    sum = (sum + load(even_ - 2 * stride_)) + even;
    if constexpr (with_source) sum = sum + load(source_ - stride_);
    store(odd_ - stride_, choose(0.5 * sum - odd_above, odd_above, true));

    odd_before_ = odd_here_;
    odd_here_ = odd_after;
    even_before_ = even_here_;
    even_here_ = even_after;
    even_ += width;
    odd_ += width;
    sum_ += width;
    if constexpr (with_source) source_ += width;
  }

  double* even_;
  double* odd_;
  double* sum_;
  const double* source_;
  std::ptrdiff_t stride_;
  double factor_;
  Values odd_before_;
  Values odd_here_;
  Values even_before_;  // in the row above
  Values even_here_;
};

template <class Vectors, bool with_source>
void expand(const RoomPairs& pairs, std::size_t first, std::size_t last,
            const ExpansionFields& fields, double factor) {
  using Walk = PairWalk<Vectors, with_source>;
  constexpr auto block = static_cast<std::ptrdiff_t>(room_block);
  const PairSegment* const end = pairs.segments + pairs.begin[last];
  for (const PairSegment* segment = pairs.segments + pairs.begin[first]; segment != end;
       ++segment) {
    Walk walk(fields, static_cast<std::ptrdiff_t>(segment->cell), pairs.stride, factor);
    const std::uint16_t* const masks = pairs.masks + segment->masks;
#pragma GCC unroll 1
    for (std::uint32_t number = 0; number < segment->masked; ++number) {
      const std::uint64_t* here = lanes.of[masks[number] & 0xffU];
      const std::uint64_t* above = lanes.of[masks[number] >> 8U];
      for (std::ptrdiff_t lane = 0; lane < block; lane += Walk::width)
        walk.masked(here + lane, above + lane);
    }
#pragma GCC unroll 1
    for (std::uint32_t vector = segment->full * (block / Walk::width); vector > 0; --vector)
      walk.full();
  }
}

template <class Vectors>
void any_expand(const RoomPairs& pairs, std::size_t first, std::size_t last,
                const ExpansionFields& fields, double factor) {
  if (fields.source != nullptr)
    expand<Vectors, true>(pairs, first, last, fields, factor);
  else
    expand<Vectors, false>(pairs, first, last, fields, factor);
}

template <class Vectors>
constexpr RoomSweeps all_sweeps = {any_jacobi, copy, scale, any_expand<Vectors>};

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace wallheat
