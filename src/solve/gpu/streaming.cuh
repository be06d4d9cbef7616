#pragma once

#include <cstddef>
#include <cstdint>

#include "solve/gpu/tile.cuh"

// The streaming kernel, for plans that the cluster kernel cannot solve: plans that are too large
// for the registers of a cluster, plans with a heat source, and the 2-norm. A block loads a region
// of tiles from device memory, makes a few sweeps on it, and stores the tiles in its middle. The
// cells at the border of the region become invalid, because they have no neighbours. The invalid
// part grows by one cell per sweep, and never reaches the tiles that are stored.

namespace wallheat::gpu {

/// Returns the number of blocks that must fit into a multiprocessor. It is lower for plans with a
/// heat source, because their terms are in registers, too.
constexpr int streaming_blocks_per_multiprocessor(bool has_source) { return has_source ? 2 : 4; }

/// Makes plan.sweeps sweeps on one region per block. If `looks_at_delta`, sets *largest_change to
/// the maximum of its value and the bits of the largest change of a stored cell in the last sweep.
template <bool looks_at_delta, bool has_source>
__global__ void __launch_bounds__(region_threads, streaming_blocks_per_multiprocessor(has_source))
    streaming_kernel(const StreamingKernelArgs plan, unsigned long long* largest_change) {
  constexpr int tile_cols = streamed_tile.cols;
  constexpr int tile_cells = streamed_tile.cells();
  constexpr int halo_pairs = streamed_tile.halo_pairs();
  // The index is computed manually, because nvcc generates 48 more instructions for a
  // three-dimensional array.
  __shared__ Pair halos[2 * halo_pairs * region_threads];
  const auto halo = [&](int of, int buffer, int place) -> Pair& {
    return halos[(buffer * halo_pairs + place) * region_threads + of];
  };
  const int slot = static_cast<int>(threadIdx.x);
  const int in_row = slot / region_cols;
  const int in_col = slot % region_cols;
  const std::int32_t first = plan.regions[blockIdx.x];
  const std::int32_t row = first / plan.tile_cols_count + in_row - halo_tile_rows;
  const std::int32_t col = first % plan.tile_cols_count + in_col - halo_tile_cols;
  const bool exists =
      row >= 0 && row < plan.tile_rows_count && col >= 0 && col < plan.tile_cols_count;
  const auto interior = static_cast<KernelMask<streamed_tile>>(
      exists ? plan.interior[row * plan.tile_cols_count + col] : 0);
  const std::size_t pitch = static_cast<std::size_t>(plan.tile_cols_count) * tile_cols;
  const std::size_t corner = exists ? static_cast<std::size_t>(row) * streamed_tile.rows * pitch +
                                          static_cast<std::size_t>(col) * tile_cols
                                    : 0;

  double cells[tile_cells];
#pragma unroll
  for (int cell = 0; cell < tile_cells; ++cell)
    cells[cell] = exists ? plan.from[corner + cell / tile_cols * pitch + cell % tile_cols] : 0.0;
  double terms[has_source ? tile_cells : 1];
  if constexpr (has_source) {
#pragma unroll
    for (int cell = 0; cell < tile_cells; ++cell)
      terms[cell] = exists ? plan.terms[corner + cell / tile_cols * pitch + cell % tile_cols] : 0.0;
  }
  const auto with_source = [&](double sum, int cell) {
    if constexpr (has_source) return sum + terms[cell];
    return sum;
  };
  // Halos at the border of the region are never written. Their values do not matter, because the
  // cells that depend on them are not stored.
  for (int place = 0; place < halo_pairs; ++place)
    halo(slot, 0, place) = halo(slot, 1, place) = Pair{0, 0};
  __syncthreads();
  int buffer = 0;
  const auto received = [&](int place) { return halo(slot, buffer, place); };
  const auto give_and_await_edges = [&] {
    send_edges<streamed_tile>(cells, [&](Side side, int place, const auto& edge) {
      const auto give_to = [&](int neighbour) {
        for (const Pair& pair : edge) halo(neighbour, buffer, place++) = pair;
      };
      if (side == left && in_col > 0) give_to(slot - 1);
      if (side == right && in_col + 1 < region_cols) give_to(slot + 1);
      if (side == up && in_row > 0) give_to(slot - region_cols);
      if (side == down && in_row + 1 < region_rows) give_to(slot + region_cols);
    });
    __syncthreads();
  };
  for (int remaining = plan.sweeps - 1; remaining > 0; --remaining) {
    give_and_await_edges();
    sweep<streamed_tile, false>(cells, interior, received, with_source);
    buffer ^= 1;
  }
  give_and_await_edges();
  double change = sweep<streamed_tile, looks_at_delta>(cells, interior, received, with_source);

  const bool in_core = in_row >= halo_tile_rows && in_row < region_rows - halo_tile_rows &&
                       in_col >= halo_tile_cols && in_col < region_cols - halo_tile_cols;
  if (in_core && interior != 0) {
#pragma unroll
    for (int cell = 0; cell < tile_cells; ++cell)
      plan.to[corner + cell / tile_cols * pitch + cell % tile_cols] = cells[cell];
  } else {
    change = 0;
  }
  if (!looks_at_delta) return;
  // The bits of non-negative values, compared as integers, have the same order as the values.
  const auto of_warp = static_cast<unsigned long long>(__double_as_longlong(warp_maximum(change)));
  if (threadIdx.x % warp_threads == 0) atomicMax(largest_change, of_warp);
}

}  // namespace wallheat::gpu
