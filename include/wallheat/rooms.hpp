#pragma once

#include <cstdint>
#include <vector>

#include "wallheat/floor_plan.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// The rooms of a plan, numbered from 1 in row-major order of their first cells.
struct RoomMap {
  Grid<std::uint32_t> labels;    ///< room number of each cell; 0 for fixed cells
  std::uint32_t room_count = 0;  ///< number of rooms
};

/// Largest door width, in cells.
inline constexpr std::uint32_t max_door_cells = 10000;

/// Returns the default door width in cells: a fiftieth of the longer side of the grid, at least 1.
/// For 512 cells it is 10, which corresponds to 1 m in generated plans, whose doors are 0.65 to 1 m
/// wide, and whose corridors and rooms are at least 1.5 m wide. In the real plans all doors are
/// closed: three of them have the same rooms for every door width up to 12.
[[nodiscard]] std::uint32_t default_door_cells(GridShape shape);

/// Divides the interior into rooms at openings of at most `door` cells. Odd widths are rounded up
/// to even ones; 0 divides at walls only. Each interior cell belongs to exactly one room, and each
/// room is connected by edges. This is the morphological segmentation of Bormann et al., "Room
/// segmentation: survey, implementation, and analysis", ICRA 2016:
///
/// 1. Erode: cells whose distance from all fixed cells, and from the outside of the grid, exceeds
/// door / 2 are core
///    cells. The distance is Euclidean, between centres, so buildings may be rotated.
/// 2. Label: core cells that touch, also at a corner, form a core. A core with fewer than `door`
/// cells is dropped,
///    because it is part of an opening that discretisation made slightly wider.
/// 3. Grow: each other cell belongs to the room of the nearest core, in steps between edge
/// neighbours within the
///    interior. If two cores are equally near, the one with more cells is chosen; if their sizes
///    are equal, the one whose first cell comes first.
/// 4. Cells that no core reaches form one room per connected component.
///
/// A rotation by 90° results in the same rooms, except for cells that are equally near to two cores
/// of equal size. The time is proportional to the number of cells, independently of the door width.
/// Throws RunError if `door` exceeds max_door_cells.
[[nodiscard]] RoomMap map_rooms(const Grid<std::uint8_t>& interior, std::uint32_t door);

/// A room of a solved plan, as result files store it.
struct RoomResult {
  std::uint32_t plan = 0;  ///< row index of its plan in a result file; otherwise 0
  std::uint32_t room = 0;  ///< number in the RoomMap
  double mean_temp = 0;    ///< °C; NumPy's mean of its cells in row-major order
  double min_temp = 0;     ///< °C
  double max_temp = 0;     ///< °C
  std::uint32_t cells = 0;
  std::uint32_t cells_above = 0;  ///< number of cells above Thresholds::above
  std::uint32_t cells_below = 0;  ///< number of cells below Thresholds::below
  std::uint32_t first_row = 0;    ///< bounding box, inclusive
  std::uint32_t first_col = 0;
  std::uint32_t last_row = 0;
  std::uint32_t last_col = 0;
  float centre_row = 0;          ///< mean row of its cells; the centre may be outside the room
  float centre_col = 0;          ///< mean column of its cells
  std::uint32_t room_crc32 = 0;  ///< checksum of the members above in a result file; otherwise 0
  friend bool operator==(const RoomResult&, const RoomResult&) = default;
};

/// Returns the results of all rooms of a map, in their order. `field` is in °C, with the shape of
/// the map.
[[nodiscard]] std::vector<RoomResult> room_results(const RoomMap& map, const Grid<double>& field,
                                                   const Thresholds& thresholds = {});

}  // namespace wallheat
