#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

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
///   inbox()                of this thread; where a pair stands in it says
///   offset(buffer, place)  the same for all inboxes
///   all_agree(yes)         whether all threads say yes that compute in step with this one
///   Neighbour              another thread's inbox, for writing; neighbour(slot) gives that of any
///                          thread of the group, and of no_tile one that takes nothing
///   give(to, offset, pair) writes a pair into a neighbour's inbox
///   await_edges()          waits until the edges that its neighbours give for a sweep are there
///   sync()                 waits for all threads of the group; what was written before is seen
///   max(value)             the largest of all threads' values; syncs
///   agreement()            shared by the threads of a block
template <TileShape shape, class Group>
WALLHEAT_HOST_DEVICE void iterate(Group& group, const ResidentPlan& plan) {
  constexpr int tile_cells = shape.cells();
  constexpr int inbox_pairs = shape.inbox_pairs();
  const std::int32_t slot = group.slot();
  const auto interior = static_cast<KernelMask<shape>>(plan.interior[slot]);
  // A mask costs nearly as many instructions as the sweep itself; Tiling::deal gathers the tiles
  // that need none.
  const bool unmasked = group.all_agree(interior == whole_tile(shape));
  double cells[tile_cells];
  typename Group::Neighbour neighbours[sides];
  double* const start_and_answer = plan.cells + static_cast<std::size_t>(slot) * tile_cells;
  double* const kept = plan.kept + slot;
  copy_tile<tile_cells>(start_and_answer, 1, cells, 1);
  WALLHEAT_UNROLL
  for (int side = 0; side < sides; ++side)
    neighbours[side] = group.neighbour(plan.neighbours[slot * sides + side]);
  // Both buffers: the edges that no neighbour ever gives stay as they are now.
  for (int place = 0; place < inbox_pairs; ++place) {
    const Pair pair = plan.inboxes[static_cast<std::size_t>(slot) * inbox_pairs + place];
    group.inbox()[group.offset(0, place)] = pair;
    group.inbox()[group.offset(1, place)] = pair;
  }
  int buffer = 0;
  const auto received = [&](int place) { return group.inbox()[group.offset(buffer, place)]; };
  const auto give = [&] {
    give_edges<shape>(cells, [&](int side, int place, Pair pair) {
      group.give(neighbours[side], group.offset(buffer, place), pair);
    });
  };
  const auto make_sweeps = [&](auto masked, std::int32_t window) {
    for (std::int32_t remaining = window - 1; remaining > 0; --remaining) {
      give();
      group.await_edges();
      sweep<shape, false, masked>(cells, interior, received);
      buffer ^= 1;
    }
    give();
    group.await_edges();
    const double change = sweep<shape, true, masked>(cells, interior, received);
    buffer ^= 1;
    return change;
  };
  if (group.leads()) group.agreement().begin(plan);
  group.sync();

  // Every block comes to the same agreement on its own, as it is told the same deltas.
  while (const std::int32_t window = group.agreement().window) {
    if (window > 1) copy_tile<tile_cells>(cells, 1, kept, plan.slots);
    const double change =
        unmasked ? make_sweeps(std::false_type{}, window) : make_sweeps(std::true_type{}, window);
    const double delta = group.max(change);
    if (group.leads()) group.agreement().end_window(plan, delta);
    group.sync();
    if (group.agreement().go_back) copy_tile<tile_cells>(kept, plan.slots, cells, 1);
  }
  copy_tile<tile_cells>(cells, 1, start_and_answer, 1);
  if (slot == 0) *plan.convergence = group.agreement().convergence;
}

}  // namespace wallheat::gpu
