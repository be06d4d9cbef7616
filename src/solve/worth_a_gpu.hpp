#pragma once

#include <vector>

#include "wallheat/grid.hpp"

namespace wallheat {

/// Plans of at least so many cells along a side (the root of their number of cells) are solved
/// faster by a GPU than by a CPU socket; smaller ones cost a GPU more to start than to solve. An
/// estimate for an H200, that can start 10,000 plans a second, and 32 cores with 2.5 G cell updates
/// per second each: `wallheat bench --device gpu` measures it, and its figure belongs here.
inline constexpr double gpu_break_even_side = 160;

/// What `--device auto` goes by: true where half of these plans, or more, are at least that large;
/// also where there are none.
[[nodiscard]] bool worth_a_gpu(const std::vector<GridShape>& shapes);

}  // namespace wallheat
