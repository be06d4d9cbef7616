#pragma once

#include <cstdint>

#include "wallheat/grid.hpp"

namespace wallheat {

/// How many cells down or up the next cell of its column is that is not interior, `most` (1 or
/// more) if that is farther; 0 for such a cell itself. What is around the grid is not interior.
[[nodiscard]] Grid<std::uint16_t> column_distances(const Grid<std::uint8_t>& interior,
                                                   std::uint16_t most);

}  // namespace wallheat
