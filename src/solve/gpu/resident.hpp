#pragma once

#include <cstddef>
#include <cstdint>

#include "solve/convergence.hpp"
#include "solve/gpu/tile.hpp"

// The resident kernel: a group of blocks, each thread with one tile in its registers, iterates a
// plan to its end without touching device memory but to keep a field to go back to. What the
// threads share, and how they wait for each other, is the Group's matter: a cluster of blocks that
// write into each other's shared memory, a cooperative grid with its inboxes in device memory, or
// in tests a crowd of host threads.

namespace wallheat::gpu {

/// A plan on the device. Slot s is thread s % threads of block s / threads of the group. Arrays
/// have an entry for each slot, those without a tile included. The kernel's tiles are of one shape.
struct ResidentPlan {
  double* cells = nullptr;        ///< (slots, cells of a tile), °C; the start, then the answer
  const Pair* inboxes = nullptr;  ///< (slots, inbox_pairs): fixed edges, and others
  const CellMask* interior = nullptr;        ///< (slots)
  const std::int32_t* neighbours = nullptr;  ///< (slots, sides): slots, or no_tile
  double* kept = nullptr;     ///< (cells of a tile, slots): room for a field to go back to
  Pair* exchanged = nullptr;  ///< (2, inbox_pairs, slots): a grid's inboxes
  unsigned long long* maxima = nullptr;  ///< (2), 0: where a grid gathers its largest changes
  std::int32_t slots = 0;
  Convergence* convergence = nullptr;  ///< in and out
  std::int64_t sweeps = 0;  ///< stop, to be started again, after so many sweeps or soon after
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

/// The same number, as if it were new: of one that stays a compiler works out the places of all
/// kept cells before the first sweep, and has no registers for them.
WALLHEAT_HOST_DEVICE inline std::ptrdiff_t renewed(std::ptrdiff_t number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(number));
#endif
  return number;
}

/// Copies a tile whose cells lie so far apart; 1 in registers.
template <int cells>
WALLHEAT_HOST_DEVICE inline void copy_tile(const double* from, std::ptrdiff_t from_stride,
                                           double* to, std::ptrdiff_t to_stride) {
  WALLHEAT_UNROLL
  for (int cell = 0; cell < cells; ++cell) to[cell * to_stride] = from[cell * from_stride];
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
template <TileShape shape, class Group>
WALLHEAT_HOST_DEVICE void iterate(Group& group, const ResidentPlan& plan) {
  constexpr int tile_cells = shape.cells();
  constexpr int inbox_pairs = shape.inbox_pairs();
  const std::int32_t slot = group.slot();
  const auto interior = static_cast<KernelMask<shape>>(plan.interior[slot]);
  double cells[tile_cells];
  typename Group::Neighbour neighbours[sides];
  double* const start_and_answer = plan.cells + static_cast<std::size_t>(slot) * tile_cells;
  double* const kept = plan.kept + slot;
  copy_tile<tile_cells>(start_and_answer, 1, cells, 1);
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
      sweep<shape, false>(cells, interior, received);
      buffer ^= 1;
    }
    group.give(cells, neighbours, buffer);
    group.await_edges(buffer);
    const double change = sweep<shape, true>(cells, interior, received);
    buffer ^= 1;
    return change;
  };
  if (group.leads()) group.agreement().begin(plan);
  group.begin();

  // Every block comes to the same agreement on its own, as it is told the same deltas.
  while (const std::int32_t window = group.agreement().window) {
    if (window > 1) copy_tile<tile_cells>(cells, 1, kept, renewed(plan.slots));
    const double delta = group.max(make_sweeps(window));
    if (group.leads()) group.agreement().end_window(plan, delta);
    group.sync();
    if (group.agreement().go_back) copy_tile<tile_cells>(kept, renewed(plan.slots), cells, 1);
  }
  copy_tile<tile_cells>(cells, 1, start_and_answer, 1);
  if (slot == 0) *plan.convergence = group.agreement().convergence;
}

}  // namespace wallheat::gpu
