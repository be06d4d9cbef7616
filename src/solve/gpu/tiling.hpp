#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solve/gpu/device_plan.hpp"
#include "wallheat/grid.hpp"

namespace wallheat::gpu {

/// Index for a tile that does not exist. The edge values there never change.
constexpr std::int32_t no_tile = -1;

/// The interior mask of a plan as one word per tile, for all tiles of the grid. Tiles in the last
/// row and column may extend beyond the plan.
struct TileMask {
  std::size_t rows = 0;            ///< number of tile rows
  std::size_t cols = 0;            ///< number of tile columns
  std::vector<CellMask> interior;  ///< shape (rows, cols)

  TileMask(const Grid<std::uint8_t>& plan_interior, TileShape shape);
};

/// Returns the regions of the streaming kernel whose core (a rectangle of tiles) contains interior
/// cells: for each the index in mask.interior of the first tile of its core.
[[nodiscard]] std::vector<std::int32_t> regions_with_interior_cells(const TileMask& mask);

/// The tiles of a plan that contain interior cells, and their distribution to the threads of a
/// cluster. Each thread of a block is a slot for one tile. The numbers of tiles of two blocks
/// differ by at most one.
class Tiling {
 public:
  /// Distributes the tiles to the smallest number of blocks with at most `max_threads` threads,
  /// each with as many warps as its tiles need. If these are more than max_cluster_blocks blocks,
  /// only blocks() may be called.
  ///
  /// The blocks are found by recursive bisection: the tiles are divided among one half of the
  /// blocks and the other, so that the longer side of their bounding box is cut. So blocks are
  /// compact, and have to send half as many edges to other blocks as if they consisted of rows of
  /// tiles. Within a block, the tiles have row-major order, which makes most edges that a warp
  /// sends adjacent in the halos of its neighbours, so that nearly all are in different banks of
  /// shared memory.
  Tiling(const Grid<std::uint8_t>& plan_interior, std::size_t max_threads);

  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t threads() const { return threads_; }  ///< per block
  [[nodiscard]] std::size_t slots() const { return blocks_ * threads_; }

  // The following functions write the values of all slots. A slot without a tile has no interior
  // cells and no neighbours, and zeros as values. Cells outside the plan are at 0 °C.

  /// Writes the masks; shape (slots).
  void load_interior(CellMask* interior) const;
  /// Writes the slots of the neighbours, or no_tile; shape (slots, sides).
  void load_neighbours(std::int32_t* neighbours) const;
  /// Writes the cells of the tiles; shape (slots, cells of a tile).
  void load_cells(const Grid<double>& field, double* cells) const;
  /// Writes the facing edges of all neighbours; shape (slots, halo_pairs).
  void load_halos(const Grid<double>& field, Pair* halos) const;
  /// Copies the cells of the slots into the field.
  void store_cells(const double* cells, Grid<double>& field) const;

 private:
  struct Tile {
    std::size_t row = 0;  ///< row of its first cell in the plan
    std::size_t col = 0;  ///< column of its first cell
    CellMask interior = 0;
    std::size_t slot = 0;
    std::int32_t neighbours[sides]{};  ///< slots, or no_tile
  };

  /// Assigns slots of `blocks` blocks, beginning with `first_block`, to these tiles, which are
  /// indices in ascending order. Changes their order.
  void distribute(std::span<std::uint32_t> tiles, std::size_t first_block, std::size_t blocks);
  /// Calls copy(row, column, offset in the slots' cells, number of cells) for each row of each tile
  /// that is inside a plan with `rows` rows and `cols` columns.
  template <class Copy>
  void for_each_row(std::size_t rows, std::size_t cols, const Copy& copy) const;

  std::vector<Tile> tiles_;  ///< in row-major order
  std::size_t blocks_ = 0;
  std::size_t threads_ = 0;
};

}  // namespace wallheat::gpu
