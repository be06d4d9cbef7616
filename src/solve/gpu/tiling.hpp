#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solve/gpu/device_plan.hpp"
#include "wallheat/grid.hpp"

namespace wallheat::gpu {

/// No neighbour: the edge there never changes.
constexpr std::int32_t no_tile = -1;

/// Cells of an interior mask, a word for each tile, over the whole grid of tiles (the last row and
/// column of tiles may hang over the plan's edge).
struct TileMask {
  std::size_t rows = 0;  ///< of tiles
  std::size_t cols = 0;
  std::vector<CellMask> interior;  ///< shape (rows, cols)

  TileMask(const Grid<std::uint8_t>& plan_interior, TileShape shape);
};

/// The regions of the streaming kernel whose cores (rectangles of tiles) hold interior cells: for
/// each the index of its core's first tile in mask.interior.
[[nodiscard]] std::vector<std::int32_t> regions_with_rooms(const TileMask& mask);

/// The tiles of a cluster's plan that hold interior cells, row by row, and the threads that they
/// are dealt to: blocks with a slot for each thread, all with the same number of tiles but the
/// last.
class Tiling {
 public:
  /// Gives the tiles to as few blocks of at most `max_threads` as hold them, each with as many
  /// warps as its tiles need. They stay row by row: so the edges that a warp gives lie beside each
  /// other in its neighbours' halos, and nearly all in different banks of shared memory.
  Tiling(const Grid<std::uint8_t>& plan_interior, std::size_t max_threads);

  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t threads() const { return threads_; }  ///< of a block
  [[nodiscard]] std::size_t slots() const { return blocks_ * threads_; }

  /// These write a value or more for each slot; one without a tile has no interior cells, no
  /// neighbours, and zeros. What lies outside of the plan is 0 °C.
  void load_interior(CellMask* interior) const;          ///< shape (slots)
  void load_neighbours(std::int32_t* neighbours) const;  ///< shape (slots, sides): slots
  void load_cells(const Grid<double>& field,
                  double* cells) const;  ///< shape (slots, cells of a tile)
  /// Shape (slots, halo_pairs): the facing edges of all neighbours in the field.
  void load_halos(const Grid<double>& field, Pair* halos) const;
  /// Writes the slots' cells back into the field.
  void store_cells(const double* cells, Grid<double>& field) const;

 private:
  struct Tile {
    std::size_t row;  ///< of its first cell in the plan
    std::size_t col;
    CellMask interior;
    std::int32_t neighbours[sides];  ///< tiles, or no_tile
  };

  [[nodiscard]] std::size_t slot_of(std::size_t tile) const {
    return tile / tiles_of_block_ * threads_ + tile % tiles_of_block_;
  }
  /// Calls copy(row, column, offset in the slots' cells, number of cells) for what each tile has of
  /// each row of a plan with `rows` rows and `cols` columns.
  template <class Copy>
  void for_each_row(std::size_t rows, std::size_t cols, const Copy& copy) const;

  std::vector<Tile> tiles_;
  std::size_t tiles_of_block_ = 1;
  std::size_t blocks_ = 0;
  std::size_t threads_ = 0;
};

}  // namespace wallheat::gpu
