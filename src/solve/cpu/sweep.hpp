#pragma once

#include <cstddef>
#include <cstdint>

// Sweeps of Jacobi, and of the expansions in fastforward/fast_forward.cpp, which are compiled once
// per instruction set. Files that include this header are compiled for different processors, so it
// contains only plain data. If they shared inline functions, the linker could select a copy with
// instructions that this processor lacks.

namespace wallheat {

/// Maximum number of cells per block.
inline constexpr std::size_t max_block_width = 16;

/// Maximum number of fused sweeps, or levels; see ActiveBlocks.
inline constexpr int max_fused_sweeps = 4;

/// Consecutive blocks that front f of fused sweeps updates. A run consists of parts, each of which
/// is described by a head word, and one word per masked block, which contains the mask for level k
/// from bit k * max_block_width.
struct BlockRun {
  /// Offset of its first block in rows f + 1, f, ..., f - levels, in cells of a field. The blocks
  /// to the left and right of the run are stored next to it.
  std::uint32_t cell[max_fused_sweeps + 2];
  std::uint32_t first_word;
  std::uint32_t
      parts;  ///< each has masked blocks, and then full ones, whose cells are all interior
};

// A head word contains the numbers of masked and of full blocks of a part.
constexpr std::uint64_t head_word(std::uint64_t masked, std::uint64_t full) {
  return masked | full << 32U;
}
constexpr std::uint64_t masked_blocks(std::uint64_t head) { return head & 0xffff'ffffU; }
constexpr std::uint64_t full_blocks(std::uint64_t head) { return head >> 32U; }

/// The runs of consecutive fronts.
struct BlockRuns {
  const BlockRun* begin;
  const BlockRun* end;
  const std::uint64_t* words;
};

/// The fields of fused sweeps: level 0 reads `start` and writes `odd`, level 1 reads `odd` and
/// writes `even`, and so on alternately. They are parts of one array; `start` may be `even`.
struct SweepFields {
  const double* start = nullptr;
  double* odd = nullptr;
  double* even = nullptr;
  const double* source =
      nullptr;  ///< terms added to the sum of the neighbours; null if there are none
};

/// The fields of an expansion: two that alternately contain its terms y, and two sums. They are
/// parts of one array, with zeros in fixed cells.
struct ExpansionFields {
  double* even;  ///< y[2 k]
  double* odd;   ///< y[2 k + 1]
  double* sum;
  double* growth;
  double factor;  ///< by which the sum of the neighbours is multiplied
};

/// The coefficients of the last two even terms, in the sum and in the growth.
struct TermShares {
  double before;
  double after;
  double growth_before;
  double growth_after;
};

/// Norms of a field; NaN if one of its values is NaN.
struct Norms {
  double largest;  ///< largest magnitude
  double squares;  ///< sum of squares
};

/// The sweeps for one instruction set. They write complete blocks: new values to interior cells,
/// and the old values to others.
struct SweepKernels {
  int levels;               ///< number of fused sweeps; even
  std::size_t block_width;  ///< cells per block; a block starts at a multiple of this many cells
  /// Column of each stored cell of a block, relative to the first column of the block.
  std::uint8_t columns[max_block_width];
  /// Makes 1, levels - 1 or `levels` sweeps along the runs.
  void (*sweep)(const SweepFields& fields, const BlockRuns& runs, int levels);
  /// Makes one sweep from `start` to `odd`, and returns delta, the largest |new - old|; NaN if one
  /// of them is NaN.
  double (*sweep_with_delta)(const SweepFields& fields, const BlockRuns& runs);
  /// Computes `levels` terms y[j + 1] = factor N y[j] - y[j - 1], the first of which is even. N f
  /// is the sum of a cell's neighbours in f. If `shares` is not null, adds the last two even terms,
  /// multiplied by it, to the sum and the growth.
  void (*expand)(const ExpansionFields& fields, const BlockRuns& runs, const TermShares* shares);

  // The following functions process all stored cells, whose number is a multiple of the block
  // width.

  /// Returns the norms of a field.
  Norms (*norms)(std::size_t cells, const double* of);
  /// Makes the iteration whose change is `next`: field += next, change = next. Returns the norms of
  /// `next`.
  Norms (*apply_change)(std::size_t cells, const double* next, double* change, double* field);

  /// Performs only additions, in independent chains, for benchmarks. Returns the number of
  /// additions.
  std::int64_t (*add)(std::int64_t rounds);
};

}  // namespace wallheat
