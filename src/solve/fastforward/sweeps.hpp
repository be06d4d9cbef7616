#pragma once

#include <cstddef>
#include <cstdint>

// The sweeps of the fast-forward solver, once per instruction set. What includes this is compiled
// for different processors: it shares nothing but plain data (see cpu/sweep.hpp).

namespace wallheat {

/// Cells per block; a block starts at a multiple of this many columns.
inline constexpr std::size_t room_block = 8;

/// Neighbouring blocks of a row: a first one, then blocks that belong to the room as a whole, then
/// a last one.
struct RoomSegment {
  std::uint32_t cell;  ///< offset of the first block's first cell
  std::uint32_t full;  ///< number of blocks between the first and the last
  std::uint8_t first;  ///< bit i: cell i of the first block is of the room; may be 0
  std::uint8_t last;   ///< the same of the last block, which follows the full ones; may be 0
};

/// All segments of a room (or of several), row by row.
struct RoomRows {
  const RoomSegment* segments;
  const std::uint32_t* begin;  ///< row r has segments begin[r] to begin[r + 1]
  std::size_t rows;
  std::ptrdiff_t stride;  ///< from a cell to the one below it
};

/// Neighbouring blocks in which a cell of a row or of the row above it is of the room.
struct PairSegment {
  std::uint32_t cell;   ///< offset of the first block's first cell in the lower row
  std::uint32_t masks;  ///< number of the first block's mask
  std::uint32_t blocks;
};

/// What two steps at once go along: the first of them in a row, the second in the row above it.
struct RoomPairs {
  const PairSegment* segments;
  const std::uint16_t* masks;  ///< of a block: the lower row's bits, then those of the row above
  const std::uint32_t*
      begin;           ///< front f, of row f and f - 1, has segments begin[f] to begin[f + 1]
  std::size_t fronts;  ///< one more than there are rows
  std::ptrdiff_t stride;
};

/// Two fields whose values take turns, and what is summed up.
struct ExpansionFields {
  double* even;  ///< y[2 k]
  double* odd;   ///< y[2 k + 1]
  double* sum;
  double* growth;
};

/// By how much the even terms before and after two steps count in the sum and in the growth.
struct TermShares {
  double before;
  double after;
  double growth_before;
  double growth_after;
};

/// How large the values of a room are.
struct RoomSize {
  double largest;  ///< of the magnitudes
  double squares;  ///< their sum
  double turned;   ///< what the last step changed, or the next one will: the squares' sum, at most
};

/// Sweeps touch the cells of the room only, and read those next to them. J f is a quarter of the
/// sum of a cell's neighbours in f.
struct RoomSweeps {
  /// change = what a Jacobi iteration changes of the field, with a source if that is not null.
  void (*first_change)(const RoomRows&, const double* field, double* change, const double* source);
  /// to = J from. Returns the size of `to`.
  RoomSize (*step)(const RoomRows&, const double* from, double* to);
  RoomSize (*size)(const RoomRows&, const double* of);
  /// to = factor from
  void (*scale)(const RoomRows&, double factor, const double* from, double* to);
  /// Makes the next iteration, whose change is given: field += next, change = next.
  void (*take)(const RoomRows&, const double* next, double* change, double* field);
  /// Makes those of a jump: field += growth + stepped + (next - change), change = next.
  void (*take_jump)(const RoomRows&, const double* next, const double* growth,
                    const double* stepped, double* change, double* field);
  /// Makes two steps y[j + 1] = 2 J y[j] - y[j - 1] for j = 2 k + 1 and 2 k + 2 at fronts `first`
  /// to `last` - 1. Where `shares` is not null, adds their parts of y[2 k] and y[2 k + 2] to the
  /// sum and to the growth.
  void (*expand)(const RoomPairs&, std::size_t first, std::size_t last, const ExpansionFields&,
                 const TermShares* shares);
};

[[nodiscard]] RoomSweeps baseline_room_sweeps();
[[nodiscard]] RoomSweeps avx2_room_sweeps();
[[nodiscard]] RoomSweeps avx512_room_sweeps();
/// Those of a set that is available.
enum class Isa;
[[nodiscard]] RoomSweeps room_sweeps_for(Isa isa);

}  // namespace wallheat
