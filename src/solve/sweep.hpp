#pragma once

#include <cstddef>
#include <cstdint>

// One Jacobi sweep over the active blocks of a padded field, once per instruction set.
// These files are compiled for different processors: they share nothing but plain data, so that the
// linker cannot put one processor's copy of a library function into another's path.

namespace wallheat {

/// Cells per block; a block starts at a multiple of this many cells.
inline constexpr std::size_t block_width = 8;

/// The blocks that hold interior cells, in row-major order.
struct ActiveBlocks {
  const std::uint32_t* offset;  ///< first cell of the block in the padded field
  const std::uint8_t* mask;     ///< bit i: cell i of the block is interior
  std::size_t count;
  std::size_t stride;           ///< cells from one row of the padded field to the next
};

/// Updates the interior cells of `to` from `from`; writes no other cell.
using Sweep = void (*)(const double* from, double* to, const ActiveBlocks& blocks);
/// The same, and returns the largest |new - old|.
using SweepWithDelta = double (*)(const double* from, double* to, const ActiveBlocks& blocks);

struct Sweeps {
  Sweep plain;
  SweepWithDelta with_delta;
};

[[nodiscard]] Sweeps baseline_sweeps();
[[nodiscard]] Sweeps avx2_sweeps();
[[nodiscard]] Sweeps avx512_sweeps();

}  // namespace wallheat
