#pragma once

#include "solve/sweep.hpp"

// For the files of the instruction sets alone. Everything is in an unnamed namespace, for the
// reason that sweep.hpp gives.

namespace wallheat {
namespace {

/// Goes along all blocks of some segments. `start(offset)` gives a walk at the first block of a
/// segment; each call of its masked(mask) or full() updates a block and goes on to the next. Always
/// inlined: called, it would get its pointers through memory, which costs a quarter.
template <class Start>
[[gnu::always_inline]] inline void walk_segments(const Segment* begin, const Segment* end,
                                                 Start start) {
  for (const Segment* next = begin; next != end; ++next) {
    const Segment segment = *next;
    auto walk = start(segment.offset);
    walk.masked(segment.first);
    // Unrolled, blocks that stay in registers change names instead of registers (worth about a
    // tenth).
#pragma GCC unroll 4
    for (unsigned block = 0; block < segment.full; ++block) walk.full();
    if (segment.last != 0) walk.masked(segment.last);
  }
}

/// One row of one sweep. A function of its own, so that its pointers stay in registers (a tenth,
/// too). `Walk` is made from the first cell of a block in both fields, and the stride.
template <class Walk>
[[gnu::noinline]] void update_row(const double* from, double* to, std::size_t stride,
                                  const Segment* begin, const Segment* end) {
  walk_segments(begin, end,
                [=](std::size_t offset) { return Walk(from + offset, to + offset, stride); });
}

/// Makes several sweeps in one pass: each follows the one before at a distance of a row, as soon as
/// the rows that it needs are there. A row is read from an outer cache once per pass instead of
/// once per sweep. Two fields suffice: what sweep k + 1 overwrites in a row is of sweep k - 1, and
/// sweep k has gone past it.
template <class Walk>
void skewed_sweeps(const SweepFields& fields, const ActiveRows& rows, int count) {
  const auto lag = static_cast<std::size_t>(count - 1);
  for (std::size_t front = 0; front < rows.rows + lag; ++front) {
    const std::size_t first_sweep = front < rows.rows ? 0 : front - rows.rows + 1;
    const std::size_t last_sweep = front < lag ? front : lag;
    for (std::size_t sweep = first_sweep; sweep <= last_sweep; ++sweep) {
      const bool odd = sweep % 2 == 0;  // sweeps are counted from 1 in SweepFields
      const double* from = sweep == 0 ? fields.start : odd ? fields.even : fields.odd;
      const std::uint32_t* begin = rows.begin + (front - sweep);
      update_row<Walk>(from, odd ? fields.odd : fields.even, rows.stride, rows.segments + begin[0],
                       rows.segments + begin[1]);
    }
  }
}

/// One sweep that looks at delta. `DeltaWalk` is made like a Walk, and from its own
/// DeltaWalk::Largest, which takes in the changes and has value().
template <class DeltaWalk>
double sweep_with_delta(const double* from, double* to, const ActiveRows& rows) {
  typename DeltaWalk::Largest largest;
  walk_segments(rows.segments, rows.segments + rows.begin[rows.rows], [&](std::size_t offset) {
    return DeltaWalk(from + offset, to + offset, rows.stride, largest);
  });
  return largest.value();
}

}  // namespace
}  // namespace wallheat
