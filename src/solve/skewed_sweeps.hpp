#pragma once

#include "solve/sweep.hpp"

// For the files of the instruction sets alone. Everything is in an unnamed namespace, for the reason that
// sweep.hpp gives.

namespace wallheat {
namespace {

/// Makes several sweeps in one pass: each follows the one before at a distance of a row, as soon as the
/// rows that it needs are there. A row is read from an outer cache once per pass instead of once per
/// sweep. Two fields suffice: what sweep k + 1 overwrites in a row is of sweep k - 1, and sweep k has
/// gone past it.
/// `Row` has a static update(from, to, stride, first segment, end of segments).
template <class Row>
void skewed_sweeps(const SweepFields& fields, const ActiveRows& rows, int count) {
  const auto lag = static_cast<std::size_t>(count - 1);
  for (std::size_t front = 0; front < rows.rows + lag; ++front) {
    const std::size_t first_sweep = front < rows.rows ? 0 : front - rows.rows + 1;
    const std::size_t last_sweep = front < lag ? front : lag;
    for (std::size_t sweep = first_sweep; sweep <= last_sweep; ++sweep) {
      const bool odd = sweep % 2 == 0;  // sweeps are counted from 1 in SweepFields
      const double* from = sweep == 0 ? fields.start : odd ? fields.even : fields.odd;
      const std::uint32_t* begin = rows.begin + (front - sweep);
      Row::update(from, odd ? fields.odd : fields.even, rows.stride, rows.segments + begin[0],
                  rows.segments + begin[1]);
    }
  }
}

/// `Delta` has update(from, to, stride, first segment, end of segments) and largest().
template <class Delta>
double sweep_with_delta(const double* from, double* to, const ActiveRows& rows) {
  Delta delta;
  delta.update(from, to, rows.stride, rows.segments, rows.segments + rows.begin[rows.rows]);
  return delta.largest();
}

}  // namespace
}  // namespace wallheat
