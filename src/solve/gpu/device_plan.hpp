#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "solve/convergence.hpp"

// A plan on a GPU: the tiles that its threads hold, and what the kernels are given.

namespace wallheat::gpu {

/// A tile is what one thread holds in its registers: a few rows by a few columns of cells, both
/// even. Each sweep it takes the facing edges of its four neighbours from its halo and gives its
/// own new edges into theirs. An halo holds pairs: what came from the left and the right (top to
/// bottom), from above and from below (left to right), each from a place on.
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

// A cluster's tile takes 255 registers a thread and has fewer edges a cell; a streamed one takes
// 128.
constexpr TileShape cluster_tile{8, 8};
constexpr TileShape streamed_tile{8, 4};

/// Which cells of a tile are interior, and so updated: bit r * cols + c. Kernels keep as few bits
/// as the tile has cells.
using CellMask = std::uint64_t;
template <TileShape shape>
using KernelMask = std::conditional_t<(shape.cells() > 32), std::uint64_t, std::uint32_t>;

/// Two values that are loaded and stored together.
struct alignas(16) Pair {
  double first;
  double second;
};

/// A tile's neighbours, as indexes of an array.
enum Side : int { left = 0, right = 1, up = 2, down = 3, sides = 4 };

/// Threads that a GPU runs in step.
constexpr int warp_threads = 32;

/// The threads of a cluster's block at most. Two such blocks share a multiprocessor, and take
/// nearly all of its registers: while one plan's threads wait, another's compute.
constexpr int cluster_threads = 128;
constexpr int max_cluster_blocks = 16;

/// A plan for a cluster. Slot s is thread s % threads of block s / threads. Arrays have an entry
/// for each slot, those without a tile included.
struct ClusterKernelArgs {
  double* cells = nullptr;      ///< (slots, cells of a tile), °C; the start, then the answer
  const Pair* halos = nullptr;  ///< (slots, halo_pairs): fixed edges, and others
  const CellMask* interior = nullptr;        ///< (slots)
  const std::int32_t* neighbours = nullptr;  ///< (slots, sides): slots, or no_tile
  double* rollback_cells = nullptr;          ///< (cells of a tile, slots): a field to go back to
  std::int32_t slots = 0;
  Convergence* convergence = nullptr;  ///< in and out
  std::int64_t sweeps = 0;  ///< stop after this number or soon after, to be started again
};

/// A streaming block's region of tiles, one a thread. The halos take the 48 KiB that a block has
/// everywhere. Larger regions have a smaller rim, but no other block computes while one loads or
/// waits.
constexpr int region_rows = 8;
constexpr int region_cols = 16;
constexpr int region_threads = region_rows * region_cols;
constexpr int max_sweeps_per_launch = 8;  ///< of one launch; so many cells of the rim get wrong
constexpr int halo_tile_rows =
    max_sweeps_per_launch / streamed_tile.rows;  ///< tiles that are not stored
constexpr int halo_tile_cols = max_sweeps_per_launch / streamed_tile.cols;
static_assert(max_sweeps_per_launch % streamed_tile.rows == 0 &&
              max_sweeps_per_launch % streamed_tile.cols == 0);

/// A field in device memory, padded to whole tiles.
struct StreamingKernelArgs {
  std::int32_t tile_rows_count = 0;  ///< shape of the grid of tiles
  std::int32_t tile_cols_count = 0;
  const CellMask* interior = nullptr;  ///< (tile_rows_count, tile_cols_count)
  /// (regions): the first tile, row * tile_cols_count + col, of those that a block stores.
  const std::int32_t* regions = nullptr;
  /// Shape (tile_rows_count * rows of a tile, tile_cols_count * columns of a tile), °C.
  const double* from = nullptr;
  const double* terms = nullptr;  ///< of a source (source_terms), the same shape, or none
  double* to = nullptr;           ///< the same shape; only tiles with interior cells are written
  std::int32_t sweeps = 0;        ///< from 1 to max_sweeps_per_launch
};

}  // namespace wallheat::gpu
