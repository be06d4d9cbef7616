#pragma once

#include <cstddef>
#include <cstdint>

// Jacobi sweeps over the rooms of a plan, once per instruction set.
// What includes this is compiled for different processors: it shares nothing but plain data, so
// that the linker cannot put one processor's copy of a library function into another's path.

namespace wallheat {

/// Cells per block; a block starts at a multiple of this many cells.
inline constexpr std::size_t block_width = 8;

/// Neighbouring blocks of one row that hold interior cells: a first block, then blocks that are all
/// interior, then a last one. Most of the work is in the middle, which needs no masks. Offsets
/// count cells of a field; the blocks left and right of a segment are stored beside it.
struct Segment {
  std::uint32_t cell;  ///< first cell of the first block
  std::uint32_t up;    ///< the cell above it
  std::uint32_t down;  ///< the cell below it
  std::uint16_t full;  ///< number of blocks that are all interior
  std::uint8_t first;  ///< bit i: cell i of the first block is interior
  std::uint8_t last;   ///< the same of the last block; 0 where there is none
};

/// All segments of a plan, row by row.
struct ActiveRows {
  const Segment* segments;
  const std::uint32_t* begin;  ///< row r has segments begin[r] to begin[r + 1]
  std::size_t rows;
};

/// Where a series of sweeps reads and writes: sweep 1 goes from `start` to `odd`, sweep 2 from
/// there to `even`, and so on to and fro. `start` may be `even`.
struct SweepFields {
  const double* start;
  double* odd;
  double* even;
};

/// How the values of the field that a sweep reads, and of the one that it writes, are kept. Four
/// times the temperature is the mere sum of the neighbours: a sweep that writes it saves the
/// multiplication by a quarter, and the next makes up for both. Powers of two leave the digits
/// alone, so the results are the same to the last bit (where nothing over- or underflows).
enum class Scaling {
  none,  ///< from temperatures to temperatures
  to_fourfold,
  from_fourfold,
};

/// What turns the sum of four neighbours into the new value.
constexpr double sum_factor(Scaling scaling) {
  return scaling == Scaling::none ? 0.25 : scaling == Scaling::to_fourfold ? 1.0 : 0.0625;
}

/// What turns an old value into a new one that means the same temperature.
constexpr double kept_factor(Scaling scaling) {
  return scaling == Scaling::none ? 1.0 : scaling == Scaling::to_fourfold ? 4.0 : 0.25;
}

/// The sweeps of one instruction set. Each writes whole blocks: interior cells get a new value, the
/// others the old one.
struct Sweeps {
  /// Makes `count` >= 1 sweeps in one pass over the rows, all fields holding temperatures.
  void (*plain)(const SweepFields& fields, const ActiveRows& rows, int count);
  /// The same with `odd` holding fourfold temperatures.
  void (*fourfold)(const SweepFields& fields, const ActiveRows& rows, int count);
  /// Makes one sweep from `from` to `to` and returns the largest |new - old| of a temperature.
  double (*with_delta)(const double* from, double* to, const ActiveRows& rows);
  /// The same with `from` holding fourfold temperatures.
  double (*with_delta_from_fourfold)(const double* from, double* to, const ActiveRows& rows);
};

[[nodiscard]] Sweeps baseline_sweeps();
[[nodiscard]] Sweeps avx2_sweeps();
[[nodiscard]] Sweeps avx512_sweeps();

}  // namespace wallheat
