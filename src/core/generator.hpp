#pragma once

#include <cstddef>
#include <cstdint>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Returns a synthetic floor plan of shape (size, size): a rotated building of one or more wings
/// with load-bearing outer walls, corridors, rooms, inside walls and doors; some plans have a
/// staircase or an open loggia. `domain` is the initial field in °C: 5 on load-bearing walls, 25 on
/// inside walls, 0 elsewhere. `interior` is 1 on room cells, of which there is at least one. In one
/// plan of ten the building extends beyond an edge of the grid, so that rooms touch the edge.
///
/// The plan depends on the three arguments only, and its bytes are the same on every machine,
/// because only integers are used. The appearance is tuned at size 512, where 20 to 60 % of the
/// cells are interior; other sizes are scaled. Throws RunError if size is not within 16 to 16384.
[[nodiscard]] FloorPlan generate_floor_plan(std::uint64_t seed, std::uint64_t index,
                                            std::size_t size);

/// Returns a square plate with edges of 0 °C and heat sources, for Poisson's equation with a grid
/// spacing of 1 / size. Plan 0 has a heat source of 10000 in the middle cell (row and column size /
/// 2), plan 1 a heat source of 1 everywhere, and later plans one to eight cells of 1000 to 20000 at
/// random positions. The plan is the same on every machine, as that of generate_floor_plan().
/// Throws RunError if size is not within 16 to 16384.
[[nodiscard]] FloorPlan generate_poisson_plan(std::uint64_t seed, std::uint64_t index,
                                              std::size_t size);

}  // namespace wallheat
