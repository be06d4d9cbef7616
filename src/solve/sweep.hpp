#pragma once

#include <cstddef>
#include <cstdint>

// Jacobi sweeps over the rooms of a padded field, once per instruction set.
// What includes this is compiled for different processors: it shares nothing but plain data, so
// that the linker cannot put one processor's copy of a library function into another's path.

namespace wallheat {

/// Cells per block; a block starts at a multiple of this many cells.
inline constexpr std::size_t block_width = 8;

/// Neighbouring blocks of one row that hold interior cells: a first block, then blocks that are all
/// interior, then a last one. Most of the work is in the middle, which needs no masks.
struct Segment {
  std::uint32_t offset;  ///< first cell of the first block in the padded field
  std::uint16_t full;    ///< number of blocks that are all interior
  std::uint8_t first;    ///< bit i: cell i of the first block is interior
  std::uint8_t last;     ///< the same of the last block; 0 where there is none
};

/// All segments of a plan, row by row.
struct ActiveRows {
  const Segment* segments;
  const std::uint32_t* begin;  ///< row r has segments begin[r] to begin[r + 1]
  std::size_t rows;
  std::size_t stride;  ///< cells from one row of the padded field to the next
};

/// Where a series of sweeps reads and writes: sweep 1 goes from `start` to `odd`, sweep 2 from
/// there to `even`, and so on to and fro. `start` may be `even`. All three hold the same fixed
/// cells.
struct SweepFields {
  const double* start;
  double* odd;
  double* even;
};

/// The sweeps of one instruction set; each updates interior cells only.
struct Sweeps {
  /// Makes `count` >= 1 sweeps in one pass over the rows.
  void (*plain)(const SweepFields& fields, const ActiveRows& rows, int count);
  /// Makes one sweep from `from` to `to` and returns the largest |new - old|.
  double (*with_delta)(const double* from, double* to, const ActiveRows& rows);
};

[[nodiscard]] Sweeps baseline_sweeps();
[[nodiscard]] Sweeps avx2_sweeps();
[[nodiscard]] Sweeps avx512_sweeps();

}  // namespace wallheat
