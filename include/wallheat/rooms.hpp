#pragma once

#include <cstdint>
#include <vector>

#include "wallheat/floor_plan.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// The rooms of a plan, numbered from 1 in reading order of their first cells.
struct RoomMap {
  Grid<std::uint32_t> labels;    ///< of each cell; 0 where it is not interior
  std::uint32_t room_count = 0;  ///< how many rooms there are
};

/// The widest door of a room map, in cells.
inline constexpr std::uint32_t max_door_cells = 10000;

/// How wide the openings between rooms are taken to be if nobody says it: a fiftieth of the grid's
/// longer side, at least one cell. On a grid of 512 cells these are 10, which is what the generator
/// makes of 1 m (its doors are 0.65 to 1 m wide, its corridors and rooms 1.5 m and more). The real
/// plans' doors are closed: three of them have the same rooms for any door of at most 12.
[[nodiscard]] std::uint32_t default_door_cells(GridShape shape);

/// Divides the interior into rooms at the openings of at most `door` cells (an odd number counts as
/// the next even one; 0: at walls only), so that each interior cell is in exactly one room and each
/// room is connected by edges. As segmentations of indoor maps do (Bormann et al., "Room
/// segmentation: survey, implementation, and analysis", ICRA 2016, morphological segmentation):
///
/// 1. Erode: the cells farther than door / 2 from all cells that are not interior, and from what is
///    around the grid, are cores (by Euclid, between centres, so that buildings may be rotated).
/// 2. Label: core cells that touch, also at a corner, are one core. One of fewer cells than `door`
///    is part of an opening that the grid made a little wider, and no core.
/// 3. Grow back: each other cell is in the room of the core that is fewest steps away within the
///    interior (a step is to one of four neighbours), of two at one distance in that of the core of
///    more cells, and of two of as many cells in that whose first cell is first.
/// 4. What no core reaches is connected parts, each a room of its own.
///
/// A rotation by 90° gives the same rooms, but for cells at one distance from two cores of as many
/// cells. The time is in proportion to the number of cells, whatever the door. Throws RunError if
/// `door` is above max_door_cells.
[[nodiscard]] RoomMap map_rooms(const Grid<std::uint8_t>& interior, std::uint32_t door);

/// A room of a solved plan, as result files have it.
struct RoomResult {
  std::uint32_t row = 0;   ///< in a result file the number of its plan's row, else 0
  std::uint32_t room = 0;  ///< its number in the RoomMap
  double mean_temp = 0;    ///< °C, as NumPy's mean of its cells in reading order
  double min_temp = 0;     ///< °C
  double max_temp = 0;     ///< °C
  std::uint32_t cells = 0;
  std::uint32_t cells_above = 0;  ///< above Thresholds::above
  std::uint32_t cells_below = 0;  ///< below Thresholds::below
  std::uint32_t first_row = 0;    ///< of its box
  std::uint32_t first_col = 0;
  std::uint32_t last_row = 0;
  std::uint32_t last_col = 0;
  float centre_row = 0;  ///< mean row and column of its cells, which may lie outside it
  float centre_col = 0;
  std::uint32_t room_crc32 = 0;  ///< in a result file of all bytes before it, else 0
  friend bool operator==(const RoomResult&, const RoomResult&) = default;
};

/// All rooms of a map in their order; `field` is in °C and of the map's shape.
[[nodiscard]] std::vector<RoomResult> room_results(const RoomMap& map, const Grid<double>& field,
                                                   const Thresholds& thresholds = {});

}  // namespace wallheat
