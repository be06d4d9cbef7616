#pragma once

#include <vector>

#include "solve/offload.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// An H200 and the 32 cores beside it, in cell updates: 2.5 G a core; 12 a cycle of 132
/// multiprocessors at 1.755 GHz, by the model of gpu/README.md; 10,000 plans a second that the GPU
/// can start. Estimates: `wallheat bench --device gpu` measures all four, and its figures belong
/// here.
inline constexpr Offload assumed_gpu{
    .bytes_per_s = 15e9, .cpu_per_s = 32 * 2.5e9, .gpu_per_s = 12 * 132 * 1.755e9, .start_s = 1e-4};

/// Plans of at least so many cells along a side (the root of their number of cells) are solved
/// faster by a GPU than by a CPU socket; smaller ones cost a GPU more to start and to move than to
/// solve.
inline constexpr double gpu_break_even_side = break_even_plan_side(assumed_gpu);

/// What `--device auto` goes by: true where half of these plans, or more, are at least that large;
/// also where there are none.
[[nodiscard]] bool worth_a_gpu(const std::vector<GridShape>& shapes);

}  // namespace wallheat
