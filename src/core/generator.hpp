#pragma once

#include <cstddef>
#include <cstdint>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Draws a synthetic floor plan of shape (size, size): a rotated building of one or more wings with
/// load-bearing outer walls, corridors, rooms, inside walls and doors, in some plans a staircase or
/// an open loggia. `domain` is the start field in °C: 5 on load-bearing walls, 25 on inside walls,
/// 0 elsewhere; `interior` is 1 on room cells, of which there is at least one. One plan in ten
/// hangs over an edge of the grid, so that rooms touch it.
///
/// The plan depends on nothing but the three arguments, and it is the same to the last byte on
/// every machine: only integers are used. The look is tuned at size 512, where 20 to 60 % of the
/// cells are interior; other sizes scale it. Throws RunError if size is not within 16 to 16384.
[[nodiscard]] FloorPlan generate_floor_plan(std::uint64_t seed, std::uint64_t index,
                                            std::size_t size);

/// A square plate with edges of 0 °C and heat sources, for Poisson's equation with a spacing of
/// 1 / size: plan 0 has a source of 10000 in the middle cell (row and column size / 2), plan 1 a
/// source of 1 everywhere, later ones one to eight cells of 1000 to 20000 anywhere. The same
/// everywhere, as above. Throws RunError if size is not within 16 to 16384.
[[nodiscard]] FloorPlan generate_poisson_plan(std::uint64_t seed, std::uint64_t index,
                                              std::size_t size);

}  // namespace wallheat
