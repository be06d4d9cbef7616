#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "solve/convergence.hpp"

// The representation of a plan on a GPU: tiles, and the arguments of the kernels.

namespace wallheat::gpu {

/// Shape of a tile, the cells that one thread stores in its registers. Both sizes are even. In each
/// sweep, a thread reads the facing edges of its four neighbours from its halo, and writes its own
/// new edges into the halos of the neighbours. A halo is an array of pairs: the edges from the left
/// and the right (top to bottom), and from above and below (left to right), which start at the
/// indices that the functions return.
struct TileShape {
  int rows = 0;
  int cols = 0;

  [[nodiscard]] constexpr int cells() const { return rows * cols; }
  [[nodiscard]] constexpr int from_left() const { return 0; }
  [[nodiscard]] constexpr int from_right() const { return rows / 2; }
  [[nodiscard]] constexpr int from_up() const { return rows; }
  [[nodiscard]] constexpr int from_down() const { return rows + cols / 2; }
  [[nodiscard]] constexpr int halo_pairs() const { return rows + cols; }
  bool operator==(const TileShape&) const = default;
};

// The larger tile of the cluster kernel has fewer edge cells per cell, and needs 255 registers per
// thread. The tile of the streaming kernel needs 128.
constexpr TileShape cluster_tile{8, 8};
constexpr TileShape streamed_tile{8, 4};

/// Mask of the interior cells of a tile: bit r * cols + c. Kernels use the smallest type with a bit
/// per cell.
using CellMask = std::uint64_t;
template <TileShape shape>
using KernelMask = std::conditional_t<(shape.cells() > 32), std::uint64_t, std::uint32_t>;

/// Two values that are loaded and stored with one instruction.
struct alignas(16) Pair {
  double first;
  double second;
};

/// The sides of a tile, as array indices of its neighbours.
enum Side : int { left = 0, right = 1, up = 2, down = 3, sides = 4 };

/// Number of threads in a warp.
constexpr int warp_threads = 32;

/// Maximum number of threads in a block of a cluster. Two blocks with this size fit into a
/// multiprocessor and use nearly all of its registers, so the threads of one plan compute while
/// those of another wait.
constexpr int cluster_threads = 128;
constexpr int max_cluster_blocks = 16;

/// Arguments of the cluster kernel. Slot s is thread s % threads of block s / threads. Arrays have
/// an element for each slot, including slots without a tile.
struct ClusterKernelArgs {
  double* cells = nullptr;  ///< (slots, cells of a tile), °C; in: initial field, out: iterate
  const Pair* halos =
      nullptr;  ///< (slots, halo_pairs): initial edges, including edges that never change
  const CellMask* interior = nullptr;        ///< (slots)
  const std::int32_t* neighbours = nullptr;  ///< (slots, sides): slots, or no_tile
  double* rollback_cells = nullptr;          ///< (cells of a tile, slots): buffer for rollbacks
  std::int32_t slots = 0;
  Convergence* convergence = nullptr;  ///< in and out
  std::int64_t sweeps = 0;  ///< the kernel ends after this number of sweeps, or soon after
};

// The region of a block of the streaming kernel, with one tile per thread. Its halos use the 48 KiB
// of shared memory that a block has on every GPU. Larger regions would have less overlap, but then
// no other block of the multiprocessor computes while one loads or waits.
constexpr int region_rows = 8;
constexpr int region_cols = 16;
constexpr int region_threads = region_rows * region_cols;
/// Each sweep makes one more row and column of cells at the border of a region invalid.
constexpr int max_sweeps_per_launch = 8;
// Rows and columns of tiles at the border of a region, which become invalid and are not stored.
constexpr int halo_tile_rows = max_sweeps_per_launch / streamed_tile.rows;
constexpr int halo_tile_cols = max_sweeps_per_launch / streamed_tile.cols;
static_assert(max_sweeps_per_launch % streamed_tile.rows == 0 &&
              max_sweeps_per_launch % streamed_tile.cols == 0);

/// Arguments of the streaming kernel: a field in device memory, padded to a multiple of the tile
/// size.
struct StreamingKernelArgs {
  std::int32_t tile_rows_count = 0;  ///< shape of the grid of tiles
  std::int32_t tile_cols_count = 0;
  const CellMask* interior = nullptr;  ///< (tile_rows_count, tile_cols_count)
  /// (regions): index row * tile_cols_count + col of the first tile that the block of the region
  /// stores.
  const std::int32_t* regions = nullptr;
  /// Shape (tile_rows_count * rows of a tile, tile_cols_count * columns of a tile), °C.
  const double* from = nullptr;
  const double* terms = nullptr;  ///< source_terms(), same shape; null if there is no heat source
  double* to = nullptr;           ///< the same shape; only tiles with interior cells are written
  std::int32_t sweeps = 0;        ///< from 1 to max_sweeps_per_launch

  bool operator==(const StreamingKernelArgs&) const = default;
};

}  // namespace wallheat::gpu
