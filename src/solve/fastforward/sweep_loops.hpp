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

/// For processors without masks of their own: what PairWalk asks of masks, with Lanes.
template <class Values, class Bits>
struct TableMasks {
  static constexpr bool skips_masks = true;
  static Bits mask(const std::uint16_t* masks, int row, std::ptrdiff_t lane) {
    Bits bits;
    __builtin_memcpy(&bits, &lanes.of[*masks >> 8 * row & 0xff][lane], sizeof bits);
    return bits;
  }
  static Values add(Bits mask, Values one, Values other) { return choose(mask, one + other, one); }
  static Values subtract(Bits mask, Values one, Values other) {
    return choose(mask, one - other, other);
  }

 private:
  static Values choose(Bits mask, Values yes, Values no) {
    return __builtin_bit_cast(
        Values, (__builtin_bit_cast(Bits, yes) & mask) | (__builtin_bit_cast(Bits, no) & ~mask));
  }
};

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

[[gnu::always_inline]] inline double quarter_of_neighbours(const double* from, std::ptrdiff_t i,
                                                           std::ptrdiff_t stride) {
  return updated(from[i - 1], from[i + 1], from[i - stride], from[i + stride]);
}

template <bool with_source>
void first_change(const RoomRows& rows, const double* field, double* change, const double* source) {
  const std::ptrdiff_t stride = rows.stride;
  for_each_lane(rows.segments, end_of(rows),
                [=](std::ptrdiff_t i, std::ptrdiff_t, std::uint64_t mask) {
                  double value = quarter_of_neighbours(field, i, stride);
                  if constexpr (with_source) value += 0.25 * source[i];
                  change[i] = select(mask, value - field[i], change[i]);
                });
}

void any_first_change(const RoomRows& rows, const double* field, double* change,
                      const double* source) {
  source != nullptr ? first_change<true>(rows, field, change, source)
                    : first_change<false>(rows, field, change, source);
}

/// Sums up a room's size, lane by lane.
struct SizeOfLanes {
  [[gnu::always_inline]] void add(std::ptrdiff_t lane, double value) {
    const double magnitude = value < 0 ? -value : value;
    largest[lane] = magnitude > largest[lane] ? magnitude : largest[lane];
    squares[lane] += value * value;
  }
  [[nodiscard]] RoomSize all() const {
    RoomSize found{0, 0, 0};
    for (const double value : largest)
      found.largest = value > found.largest ? value : found.largest;
    for (const double sum : squares) found.squares += sum;
    for (const double sum : turned) found.turned += sum;
    return found;
  }
  double largest[room_block] = {};
  double squares[room_block] = {};
  double turned[room_block] = {};
};

RoomSize step(const RoomRows& rows, const double* from, double* to) {
  const std::ptrdiff_t stride = rows.stride;
  SizeOfLanes size;
  for_each_lane(rows.segments, end_of(rows),
                [=, &size](std::ptrdiff_t i, std::ptrdiff_t lane, std::uint64_t mask) {
                  const double value = quarter_of_neighbours(from, i, stride);
                  const double turned = select(mask, value - from[i], 0.0);
                  size.add(lane, select(mask, value, 0.0));
                  size.turned[lane] += turned * turned;
                  to[i] = select(mask, value, to[i]);
                });
  return size.all();
}

RoomSize size(const RoomRows& rows, const double* of) {
  SizeOfLanes found;
  for_each_lane(rows.segments, end_of(rows),
                [=, &found](std::ptrdiff_t i, std::ptrdiff_t lane, std::uint64_t mask) {
                  found.add(lane, select(mask, of[i], 0.0));
                });
  RoomSize all = found.all();
  all.turned = 4 * all.squares;  // J - 1 makes nothing more than twice as large
  return all;
}

void scale(const RoomRows& rows, double factor, const double* from, double* to) {
  for_each_lane(rows.segments, end_of(rows),
                [=](std::ptrdiff_t i, std::ptrdiff_t, std::uint64_t mask) {
                  to[i] = select(mask, factor * from[i], to[i]);
                });
}

void take(const RoomRows& rows, const double* next, double* change, double* field) {
  for_each_lane(rows.segments, end_of(rows),
                [=](std::ptrdiff_t i, std::ptrdiff_t, std::uint64_t mask) {
                  field[i] = select(mask, field[i] + next[i], field[i]);
                  change[i] = select(mask, next[i], change[i]);
                });
}

void take_jump(const RoomRows& rows, const double* next, const double* growth,
               const double* stepped, double* change, double* field) {
  for_each_lane(rows.segments, end_of(rows),
                [=](std::ptrdiff_t i, std::ptrdiff_t, std::uint64_t mask) {
                  const double grown = (growth[i] + stepped[i]) + (next[i] - change[i]);
                  field[i] = select(mask, field[i] + grown, field[i]);
                  change[i] = select(mask, next[i], change[i]);
                });
}

/// Goes along a segment vector by vector with two steps at once. Left and right neighbours are
/// shifted out of vectors in registers, and what the first step makes of a row is at once the lower
/// neighbour for the second.
///
/// `Vectors` has the types Values and Bits, of doubles and words as wide as the processor's
/// registers (GCC and Clang know such types), and shifts: from_left(before, here) and
/// from_right(here, after) are the values a lane to the left or right of `here`. Of two rows' masks
/// of a block, mask(masks, row, lane) is what concerns the vector that begins at `lane`: of the row
/// itself (0) or of the one above (1). Where it is set, add(mask, one, other) is one + other, else
/// one; subtract(mask, one, other) is one - other, else other. If `skips_masks`, full blocks are
/// worth a branch.
template <class Vectors, bool with_sum>
class PairWalk {
  using Values = typename Vectors::Values;

 public:
  static constexpr std::ptrdiff_t width = sizeof(Values) / sizeof(double);

  PairWalk(const ExpansionFields& fields, std::ptrdiff_t cell, std::ptrdiff_t stride,
           TermShares shares)
      : even_(fields.even + cell),
        odd_(fields.odd + cell),
        sum_(fields.sum + cell),
        growth_(fields.growth + cell),
        stride_(stride),
        shares_(shares),
        odd_before_(load(odd_ - width)),
        odd_here_(load(odd_)),
        even_before_(load(even_ - stride - width)),
        even_here_(load(even_ - stride)) {}

  void full() {
    step([](Values one, Values other) { return one - other; },
         [](Values one, Values other) { return one + other; },
         [](Values one, Values other) { return one - other; });
  }
  /// With the masks of a block, of which the vector begins at `lane`.
  void masked(const std::uint16_t* masks, std::ptrdiff_t lane) {
    const auto here = Vectors::mask(masks, 0, lane);
    const auto above = Vectors::mask(masks, 1, lane);
    step([=](Values one, Values other) { return Vectors::subtract(here, one, other); },
         [=](Values one, Values other) { return Vectors::add(here, one, other); },
         [=](Values one, Values other) { return Vectors::subtract(above, one, other); });
  }

 private:
  static Values load(const double* from) {
    Values values;
    __builtin_memcpy(&values, from, sizeof values);
    return values;
  }
  static void store(double* to, Values values) { __builtin_memcpy(to, &values, sizeof values); }

  template <class Subtract, class Add, class SubtractAbove>
  [[gnu::always_inline]] void step(Subtract subtract, Add add, SubtractAbove subtract_above) {
    const Values odd_after = load(odd_ + width);
    const Values odd_above = load(odd_ - stride_);
    const Values even_old = load(even_);
    Values sum =
        Vectors::from_left(odd_before_, odd_here_) + Vectors::from_right(odd_here_, odd_after);
    sum = (sum + odd_above) + load(odd_ + stride_);
    const Values even = subtract(0.5 * sum, even_old);
    store(even_, even);
    if constexpr (with_sum) {
      store(sum_, add(load(sum_), shares_.before * even_old + shares_.after * even));
      store(growth_,
            add(load(growth_), shares_.growth_before * even_old + shares_.growth_after * even));
    }

    const Values even_after = load(even_ - stride_ + width);
    sum =
        Vectors::from_left(even_before_, even_here_) + Vectors::from_right(even_here_, even_after);
    sum = (sum + load(even_ - 2 * stride_)) + even;
    store(odd_ - stride_, subtract_above(0.5 * sum, odd_above));

    odd_before_ = odd_here_;
    odd_here_ = odd_after;
    even_before_ = even_here_;
    even_here_ = even_after;
    even_ += width;
    odd_ += width;
    if constexpr (with_sum) {
      sum_ += width;
      growth_ += width;
    }
  }

  double* even_;
  double* odd_;
  double* sum_;
  double* growth_;
  std::ptrdiff_t stride_;
  TermShares shares_;
  Values odd_before_;
  Values odd_here_;
  Values even_before_;  // in the row above
  Values even_here_;
};

template <class Vectors, bool with_sum>
void expand(const RoomPairs& pairs, std::size_t first, std::size_t last,
            const ExpansionFields& fields, TermShares shares) {
  using Walk = PairWalk<Vectors, with_sum>;
  constexpr auto block = static_cast<std::ptrdiff_t>(room_block);
  const PairSegment* const end = pairs.segments + pairs.begin[last];
  for (const PairSegment* segment = pairs.segments + pairs.begin[first]; segment != end;
       ++segment) {
    Walk walk(fields, static_cast<std::ptrdiff_t>(segment->cell), pairs.stride, shares);
    const std::uint16_t* masks = pairs.masks + segment->masks;
    constexpr std::uint16_t all = 0xffff;
#pragma GCC unroll 1
    for (const std::uint16_t* const after = masks + segment->blocks; masks != after; ++masks) {
      if (Vectors::skips_masks && *masks == all) {
        for (std::ptrdiff_t lane = 0; lane < block; lane += Walk::width) walk.full();
      } else {
        for (std::ptrdiff_t lane = 0; lane < block; lane += Walk::width) walk.masked(masks, lane);
      }
    }
  }
}

template <class Vectors>
void any_expand(const RoomPairs& pairs, std::size_t first, std::size_t last,
                const ExpansionFields& fields, const TermShares* shares) {
  if (shares != nullptr)
    expand<Vectors, true>(pairs, first, last, fields, *shares);
  else
    expand<Vectors, false>(pairs, first, last, fields, {});
}

template <class Vectors>
constexpr RoomSweeps all_sweeps = {any_first_change,   step, size, scale, take, take_jump,
                                   any_expand<Vectors>};

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace wallheat
