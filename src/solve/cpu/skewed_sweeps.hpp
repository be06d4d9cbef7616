#pragma once

#include "solve/cpu/sweep.hpp"

// For the files of the instruction sets alone. Everything is in an unnamed namespace, for the
// reason that sweep.hpp gives.

namespace wallheat {
namespace {

/// Where a walk along a segment is. One offset for all four pointers: stepping costs one addition.
class Place {
 public:
  Place(const double* from, double* to, const Segment& segment)
      : cell_(from + segment.cell),
        up_(from + segment.up),
        down_(from + segment.down),
        to_(to + segment.cell) {}

  [[nodiscard]] const double* cell() const { return cell_ + offset_; }
  [[nodiscard]] const double* up() const { return up_ + offset_; }      ///< above the cell
  [[nodiscard]] const double* down() const { return down_ + offset_; }  ///< below the cell
  [[nodiscard]] double* to() const { return to_ + offset_; }            ///< the cell's new value
  void skip(std::ptrdiff_t cells) { offset_ += cells; }

 private:
  const double* cell_;
  const double* up_;
  const double* down_;
  double* to_;
  std::ptrdiff_t offset_ = 0;
};

/// Goes along all blocks of some segments. `start(segment)` gives a walk at the first block; each
/// call of its masked(mask) or full() updates a block and goes on to the next. Always inlined:
/// called, it would get its pointers through memory, which costs a quarter.
template <class Start>
[[gnu::always_inline]] inline void walk_segments(const Segment* begin, const Segment* end,
                                                 Start start) {
  for (const Segment* next = begin; next != end; ++next) {
    const Segment segment = *next;
    auto walk = start(segment);
    walk.masked(segment.first);
    // Not unrolled: segments are short, and sorting out the rest of a division by the unrolling
    // costs more than it saves (5 to 7 %).
#pragma GCC unroll 1
    for (unsigned block = 0; block < segment.full; ++block) walk.full();
    if (segment.last != 0) walk.masked(segment.last);
  }
}

/// One row of one sweep. A function of its own, so that its pointers stay in registers (a tenth).
template <class Walk>
[[gnu::noinline]] void update_row(const double* from, double* to, const Segment* begin,
                                  const Segment* end) {
  walk_segments(begin, end, [=](const Segment& segment) { return Walk(Place(from, to, segment)); });
}

/// Makes several sweeps in one pass: each follows the one before at a distance of a row, as soon as
/// the rows that it needs are there. A row is read from an outer cache once per pass instead of
/// once per sweep. Two fields suffice: what sweep k + 1 overwrites in a row is of sweep k - 1, and
/// sweep k has gone past it. `OddWalk` makes the sweeps that write the odd field.
template <class OddWalk, class EvenWalk>
void skewed_sweeps(const SweepFields& fields, const ActiveRows& rows, int count) {
  const auto lag = static_cast<std::size_t>(count - 1);
  for (std::size_t front = 0; front < rows.rows + lag; ++front) {
    const std::size_t first_sweep = front < rows.rows ? 0 : front - rows.rows + 1;
    const std::size_t last_sweep = front < lag ? front : lag;
    for (std::size_t sweep = first_sweep; sweep <= last_sweep; ++sweep) {
      const std::uint32_t* begin = rows.begin + (front - sweep);
      const Segment* from = rows.segments + begin[0];
      const Segment* to = rows.segments + begin[1];
      if (sweep % 2 == 0) {  // sweeps are counted from 1 in SweepFields
        update_row<OddWalk>(sweep == 0 ? fields.start : fields.even, fields.odd, from, to);
      } else {
        update_row<EvenWalk>(fields.odd, fields.even, from, to);
      }
    }
  }
}

/// One sweep that looks at delta. `DeltaWalk` is made from a Place and its own DeltaWalk::Largest,
/// which takes in the changes and has value().
template <class DeltaWalk>
double sweep_with_delta(const double* from, double* to, const ActiveRows& rows) {
  typename DeltaWalk::Largest largest;
  walk_segments(rows.segments, rows.segments + rows.begin[rows.rows], [&](const Segment& segment) {
    return DeltaWalk(Place(from, to, segment), largest);
  });
  return largest.value();
}

/// All sweeps of an instruction set, made of its two kinds of walk.
template <template <Scaling> class Walk, template <Scaling> class DeltaWalk>
Sweeps sweeps_of() {
  return {skewed_sweeps<Walk<Scaling::none>, Walk<Scaling::none>>,
          skewed_sweeps<Walk<Scaling::to_fourfold>, Walk<Scaling::from_fourfold>>,
          sweep_with_delta<DeltaWalk<Scaling::none>>,
          sweep_with_delta<DeltaWalk<Scaling::from_fourfold>>};
}

}  // namespace
}  // namespace wallheat
