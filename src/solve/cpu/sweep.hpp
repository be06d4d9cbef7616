#pragma once

#include <cstddef>
#include <cstdint>

// Sweeps over the rooms of a plan, once per instruction set: those of Jacobi, and those of the
// expansions of fastforward/fast_forward.cpp.
// What includes this is compiled for different processors: it shares nothing but plain data, so
// that the linker cannot put one processor's copy of a library function into another's path.

namespace wallheat {

/// Cells per block; a block starts at a multiple of this many cells.
inline constexpr std::size_t block_width = 8;

/// Most sweeps that are fused, each of them a level. ActiveBlocks says how.
inline constexpr int max_fused_sweeps = 4;

/// Neighbouring blocks that a front f of fused sweeps updates. They are listed in words, part by
/// part: a head word, then a word for each masked block, whose byte k is the mask of level k.
struct BlockRun {
  /// Where its first block is in rows f + 1, f, ..., f - levels, counted in cells of a field. The
  /// blocks left and right of the run are stored beside it.
  std::uint32_t cell[max_fused_sweeps + 2];
  std::uint32_t first_word;
  std::uint32_t parts;  ///< each: masked blocks, then full ones; all cells of these are interior
};

/// The numbers of blocks in the head word of a part.
constexpr std::uint32_t max_blocks = 0xffff;
constexpr std::uint32_t head_word(std::uint32_t masked, std::uint32_t full) {
  return masked | full << 16U;
}
constexpr std::uint32_t masked_blocks(std::uint32_t head) { return head & max_blocks; }
constexpr std::uint32_t full_blocks(std::uint32_t head) { return head >> 16U; }

/// The runs of one front after the other.
struct BlockRuns {
  const BlockRun* begin;
  const BlockRun* end;
  const std::uint32_t* words;
};

/// Where fused sweeps read and write: level 0 goes from `start` to `odd`, level 1 from there to
/// `even`, and so on to and fro. Parts of one array; `start` may be `even`.
struct SweepFields {
  const double* start = nullptr;
  double* odd = nullptr;
  double* even = nullptr;
  const double* source = nullptr;  ///< added to the sum of the neighbours; null if there is none
};

/// Two fields in which the terms y of an expansion take turns, and what is summed up. Parts of one
/// array, zero at cells that are not interior.
struct ExpansionFields {
  double* even;  ///< y[2 k]
  double* odd;   ///< y[2 k + 1]
  double* sum;
  double* growth;
  double factor;  ///< of the sum of the neighbours
};

/// The factors of the last even term and of the even one before it, in the sum and in the growth.
struct TermShares {
  double before;
  double after;
  double growth_before;
  double growth_after;
};

/// The norms of a field; NaN if one of its values is NaN.
struct Norms {
  double largest;  ///< magnitude
  double squares;  ///< their sum
};

/// The sweeps of one instruction set. Each writes whole blocks: interior cells get a new value, the
/// others the old one.
struct SweepKernels {
  int levels;  ///< sweeps that are fused, an even number
  /// Makes 1, levels - 1 or `levels` sweeps along the runs.
  void (*sweep)(const SweepFields& fields, const BlockRuns& runs, int levels);
  /// Makes one sweep from `start` to `odd` and returns the largest |new - old|; NaN if one is NaN.
  double (*sweep_with_delta)(const SweepFields& fields, const BlockRuns& runs);
  /// Makes `levels` terms y[j + 1] = factor N y[j] - y[j - 1], the first of them an even one; N f
  /// is the sum of a cell's neighbours in f. If `shares` is not null, adds their parts of the
  /// last two even terms to the sum and to the growth.
  void (*expand)(const ExpansionFields& fields, const BlockRuns& runs, const TermShares* shares);

  // Those that follow go over all stored cells, a multiple of block_width.

  Norms (*norms)(std::size_t cells, const double* of);
  /// Makes the iteration whose change is `next`: field += next, change = next. Returns its norms.
  Norms (*apply_change)(std::size_t cells, const double* next, double* change, double* field);

  /// Makes nothing but additions, in independent chains; returns how many numbers were added.
  std::int64_t (*add)(std::int64_t rounds);
};

}  // namespace wallheat
