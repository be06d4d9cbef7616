#pragma once

#include <cstddef>
#include <cstdint>

#include "solve/convergence.hpp"
#include "solve/gpu/tile.hpp"

// The resident kernel: the blocks of a cluster, each thread with one tile in its registers, iterate
// a plan to its end without touching device memory but to keep a field to go back to. What the
// threads share, and how they wait for each other, is the Group's matter
// (cluster.cuh).

namespace wallheat::gpu {

/// The threads of a block. Two such blocks share a multiprocessor, and take nearly all of its
/// registers: while one plan's threads wait, another's compute.
constexpr int cluster_threads = 128;
constexpr int most_blocks_of_a_cluster = 16;

/// A plan on the device. Slot s is thread s % threads of block s / threads. Arrays have an entry
/// for each slot, those without a tile included.
struct ResidentPlan {
  double* cells = nullptr;        ///< (slots, cells of a tile), °C; the start, then the answer
  const Pair* inboxes = nullptr;  ///< (slots, inbox_pairs): fixed edges, and others
  const CellMask* interior = nullptr;        ///< (slots)
  const std::int32_t* neighbours = nullptr;  ///< (slots, sides): slots, or no_tile
  double* kept = nullptr;                    ///< (cells of a tile, slots): a field to go back to
  std::int32_t slots = 0;
  Convergence* convergence = nullptr;  ///< in and out
  std::int64_t sweeps = 0;  ///< stop after this number or soon after, to be started again
};

/// What the threads of a block agree on at the end of a window.
struct Agreement {
  Convergence convergence;
  std::int64_t sweeps_made = 0;
  std::int32_t window = 0;  ///< sweeps to make next; 0: leave
  bool go_back = false;     ///< to the kept field, before that

  WALLHEAT_HOST_DEVICE void begin(const ResidentPlan& plan) {
    convergence = *plan.convergence;
    sweeps_made = 0;
    choose_window(plan);
  }
  /// After the sweeps of the window, the last of them with this largest change.
  WALLHEAT_HOST_DEVICE void end_window(const ResidentPlan& plan, double delta) {
    go_back = !convergence.accept(delta);
    sweeps_made += window;
    choose_window(plan);
  }

 private:
  WALLHEAT_HOST_DEVICE void choose_window(const ResidentPlan& plan) {
    const bool pause = sweeps_made >= plan.sweeps;
    window = pause || convergence.finished() ? 0 : static_cast<std::int32_t>(convergence.window());
  }
};

/// The shared memory of a cluster's block.
struct BlockMemory {
  Pair inboxes[2 * cluster_tile.inbox_pairs() * cluster_threads];
  std::uint64_t arrivals[2];  // of edges from other blocks, for each inbox
  std::uint32_t edge_bytes;   // of those, in a sweep
  double maxima[most_blocks_of_a_cluster * cluster_threads / warp_threads];  // of all warps
  Agreement agreement;
};

/// Copies a tile whose cells lie so far apart; 1 in registers.
WALLHEAT_HOST_DEVICE inline void copy_tile(const double* from, std::ptrdiff_t from_stride,
                                           double* to, std::ptrdiff_t to_stride) {
  WALLHEAT_UNROLL
  for (int cell = 0; cell < cluster_tile.cells(); ++cell)
    to[cell * to_stride] = from[cell * from_stride];
}

/// The life of one thread. A Group has:
///   slot()                 this thread's number in the group
///   leads()                true in one thread of each block
///   fill(place, pair)      writes a pair into both of this thread's inboxes
///   received(buffer, place) reads one
///   Neighbour              another thread's inboxes, for writing; neighbour(slot) gives those of
///                          any thread of the group, and of no_tile what takes nothing
///   begin()                waits for all threads of the group, which have asked for neighbours
///   give(cells, neighbours, buffer) writes a tile's edges into its neighbours' inboxes
///   await_edges(buffer)    waits until the edges that its neighbours give for a sweep are there;
///                          the two inboxes take turns
///   sync()                 waits for all threads of the group; what was written before is seen
///   max(value)             the largest of all threads' values; syncs
///   agreement()            shared by the threads of a block
///   renewed(number)        the same number, as if it were new: of one that stays a compiler works
///                          out the positions of all kept cells before the first sweep, and has no
///                          registers for them
template <class Group>
WALLHEAT_HOST_DEVICE void iterate(Group& group, const ResidentPlan& plan) {
  constexpr int tile_cells = cluster_tile.cells();
  constexpr int inbox_pairs = cluster_tile.inbox_pairs();
  const std::int32_t slot = group.slot();
  const CellMask interior = plan.interior[slot];
  double cells[tile_cells];
  typename Group::Neighbour neighbours[sides];
  double* const start_and_answer = plan.cells + static_cast<std::size_t>(slot) * tile_cells;
  double* const kept = plan.kept + slot;
  copy_tile(start_and_answer, 1, cells, 1);
  WALLHEAT_UNROLL
  for (int side = 0; side < sides; ++side)
    neighbours[side] = group.neighbour(plan.neighbours[slot * sides + side]);
  // Both buffers: the edges that no neighbour ever gives stay as they are now.
  for (int place = 0; place < inbox_pairs; ++place)
    group.fill(place, plan.inboxes[static_cast<std::size_t>(slot) * inbox_pairs + place]);
  int buffer = 0;
  const auto received = [&](int place) { return group.received(buffer, place); };
  const auto make_sweeps = [&](std::int32_t window) {
    for (std::int32_t remaining = window - 1; remaining > 0; --remaining) {
      group.give(cells, neighbours, buffer);
      group.await_edges(buffer);
      sweep<cluster_tile, false>(cells, interior, received);
      buffer ^= 1;
    }
    group.give(cells, neighbours, buffer);
    group.await_edges(buffer);
    const double change = sweep<cluster_tile, true>(cells, interior, received);
    buffer ^= 1;
    return change;
  };
  if (group.leads()) group.agreement().begin(plan);
  group.begin();

  // Every block comes to the same agreement on its own, as it is told the same deltas.
  while (const std::int32_t window = group.agreement().window) {
    if (window > 1) copy_tile(cells, 1, kept, group.renewed(plan.slots));
    const double delta = group.max(make_sweeps(window));
    if (group.leads()) group.agreement().end_window(plan, delta);
    group.sync();
    if (group.agreement().go_back) copy_tile(kept, group.renewed(plan.slots), cells, 1);
  }
  copy_tile(cells, 1, start_and_answer, 1);
  if (slot == 0) *plan.convergence = group.agreement().convergence;
}

}  // namespace wallheat::gpu
