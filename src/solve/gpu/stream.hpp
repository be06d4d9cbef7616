#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/gpu_stats.hpp"
#include "solve/gpu/device_plan.hpp"

namespace wallheat::gpu {

/// Memory, and how it is released.
using Memory = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

/// What a device's kernels can take. One thread holds one tile.
struct DeviceLimits {
  int multiprocessors = 0;
  int block_threads = 0;         ///< of a cluster's block at most
  int max_cluster_blocks = 0;    ///< of a cluster; 0 if blocks cannot share their memory
  std::size_t memory_bytes = 0;  ///< of the device
  /// The most sweeps of a launch of a cluster: some tens of milliseconds, often enough to hear a
  /// stop and tell of progress.
  std::int64_t sweeps = 16384;
};

/// The moments of a solve on the device between which its time is measured.
enum TimingPoint : int { begun, uploaded, computed, downloaded, moments };

/// Work for a device, done in the order in which it is given, some time before wait() returns. What
/// it refers to must live until then. Calls throw DeviceFault if the device fails, also at
/// something that was given earlier.
class Stream {
 public:
  virtual ~Stream() = default;
  [[nodiscard]] virtual const DeviceLimits& capacity() const = 0;

  /// On the device. Throws std::bad_alloc if too little is free.
  [[nodiscard]] virtual Memory device_memory(std::size_t bytes) = 0;
  /// On the host, where the device reaches it by itself. Throws std::bad_alloc.
  [[nodiscard]] virtual Memory pinned_memory(std::size_t bytes) = 0;

  /// Between host and device, or within either.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Rows of a grid, which begin `pitch` bytes after each other.
  virtual void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t row_bytes, std::size_t rows) = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;

  /// Runs cluster_kernel() in a cluster of `blocks` blocks.
  virtual void run_cluster(int blocks, int threads, const ClusterKernelArgs& plan) = 0;
  /// Runs streaming_kernel() on `regions` regions. If `largest_change` is given, it is raised to
  /// the bits of the last sweep's.
  virtual void run_streaming(std::size_t regions, const StreamingKernelArgs& plan,
                             unsigned long long* largest_change) = 0;

  virtual void wait() = 0;

  /// Puts a mark behind the work given so far; of several of one moment the last counts.
  virtual void mark(TimingPoint /*moment*/) {}
  /// Seconds from moment to moment, all of which were marked and waited for, and those that were
  /// spent in wait() since the first; the number of the stream. Nothing if it does not measure.
  [[nodiscard]] virtual GpuPlanTimes times() { return {}; }
};

/// A launch is bounded to some tens of milliseconds, seconds if slow GPUs have many plans at
/// once, so a device that says nothing for this long hangs, and no plan is to blame.
constexpr double device_timeout_s = 30;

/// Asks `is_done` until it says so. Between two questions the thread sleeps: an eighth of the time
/// so far, from 50 µs on, at most 1 ms, so that a wait takes little longer than the work, and some
/// thirty streams that wait at a time ask few questions. `sleep` gets seconds. Time in which the
/// process was stopped does not count as silence. Throws DeviceTimeout after device_timeout_s;
/// `doing` is what the device was at.
void poll_until_done(const std::function<bool()>& is_done, const std::function<void(double)>& sleep,
                     const std::string& doing);

}  // namespace wallheat::gpu
