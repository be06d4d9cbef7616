#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solve/gpu/memory_pool.hpp"
#include "solve/gpu/resident.hpp"
#include "solve/gpu/streaming.hpp"
#include "wallheat/device_times.hpp"

namespace wallheat::gpu {

/// Of how many blocks a cluster can be, and how many such clusters the device has room for at a
/// time: the blocks of one lie on neighbouring multiprocessors.
struct ClusterSize {
  int blocks = 0;
  int at_once = 0;
};

/// A size of blocks for which there is a cluster kernel.
struct ClusterShape {
  int threads = 0;                 ///< of a block at most
  std::vector<ClusterSize> sizes;  ///< ascending
};

/// What a device's kernels can take. Threads are those of a block; one thread holds one tile.
struct Capacity {
  int multiprocessors = 0;
  /// The better first; empty where blocks cannot share their memory.
  std::vector<ClusterShape> clusters;
  int grid_threads = 0;
  int most_grid_blocks = 0;  ///< resident at a time; 0 where they cannot wait for each other
  int region_rows = 0;       ///< tiles of a streaming block
  int region_cols = 0;
  std::size_t memory_bytes = 0;  ///< of the device
};

/// Which kind of group iterates a resident plan.
enum class GroupKind { cluster, grid };

constexpr TileShape tile_of(GroupKind kind) {
  return kind == GroupKind::cluster ? cluster_tile : grid_tile;
}

/// A group of blocks, and the kernel that is to be taken: its most threads of a block.
struct GroupSize {
  GroupKind kind = GroupKind::grid;
  int most_threads = 0;
  int blocks = 0;
  int threads = 0;  ///< of a block
};

/// Work for a device, done in the order in which it is given, some time before wait() returns. What
/// it refers to must live until then. Calls throw DeviceFault where the device fails, also at
/// something that was given earlier.
class Stream {
 public:
  virtual ~Stream() = default;
  [[nodiscard]] virtual const Capacity& capacity() const = 0;

  /// On the device. Throws std::bad_alloc where too little is free.
  [[nodiscard]] virtual Memory device_memory(std::size_t bytes) = 0;
  /// On the host, where the device reaches it by itself. Throws std::bad_alloc.
  [[nodiscard]] virtual Memory pinned_memory(std::size_t bytes) = 0;

  /// Between host and device, or within either.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Rows of a grid, which begin `pitch` bytes after each other.
  virtual void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t row_bytes, std::size_t rows) = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;

  /// Runs iterate() in a group.
  virtual void run_resident(const GroupSize& group, const ResidentPlan& plan) = 0;
  /// Runs stream() on so many regions. Where `largest_change` is given, it is raised to the bits of
  /// the last sweep's.
  virtual void run_streaming(std::size_t regions, const StreamedPlan& plan,
                             unsigned long long* largest_change) = 0;

  virtual void wait() = 0;

  /// What was done since the last call, of which a wait has told the end. Nothing where the stream
  /// does not measure.
  virtual DeviceTimes take_times() { return {}; }
};

}  // namespace wallheat::gpu
