#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/gpu_stats.hpp"
#include "solve/gpu/device_plan.hpp"

namespace wallheat::gpu {

/// Memory of a device or of the host, with the function that releases it.
using Memory = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

/// Capacity of a device for the kernels. One thread solves one tile.
struct DeviceCapacity {
  int multiprocessors = 0;
  int block_threads = 0;  ///< maximum number of threads in a block of a cluster
  int max_cluster_blocks =
      0;  ///< maximum number of blocks in a cluster; 0: clusters are not supported
  std::size_t memory_bytes = 0;  ///< of the device
  /// Maximum number of sweeps per launch of the cluster kernel. They take some tens of
  /// milliseconds, which is often enough to react to a stop request and to report progress.
  std::int64_t sweeps = 16384;
};

/// Points in time of a solve on the device, between which durations are measured.
enum TimingPoint : int { begun, uploaded, computed, downloaded, moments };

/// A queue of operations for a device. They are executed in order, and are complete when wait()
/// returns; memory that they use must exist until then. Functions throw DeviceFault if the device
/// fails, which may be caused by an earlier operation.
class Stream {
 public:
  virtual ~Stream() = default;
  [[nodiscard]] virtual const DeviceCapacity& capacity() const = 0;

  /// Allocates memory on the device. Throws std::bad_alloc if too little is free.
  [[nodiscard]] virtual Memory device_memory(std::size_t bytes) = 0;
  /// Allocates pinned memory on the host. Throws std::bad_alloc.
  [[nodiscard]] virtual Memory pinned_memory(std::size_t bytes) = 0;

  /// Copies between host and device, or within one of them.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Copies `rows` rows of row_bytes bytes. Consecutive rows are `pitch` bytes apart.
  virtual void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t row_bytes, std::size_t rows) = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;

  /// Launches cluster_kernel() with a cluster of `blocks` blocks.
  virtual void run_cluster(int blocks, int threads, const ClusterKernelArgs& plan) = 0;
  /// Launches streaming_kernel() for `regions` regions. If `largest_change` is not null, sets it to
  /// the maximum of its value and the bits of the delta of the last sweep.
  virtual void run_streaming(std::size_t regions, const StreamingKernelArgs& plan,
                             unsigned long long* largest_change) = 0;

  /// Number of recordings that a stream stores. Two are enough for the streaming kernel, because
  /// the fields that a window of sweeps reads and writes alternate from window to window.
  static constexpr int recordings = 2;
  /// Calls launch(), and records the streaming kernels that it launches on this stream, instead of
  /// executing them. launch() must not call other functions of the stream, and the stream must have
  /// executed these kernels before, because CUDA loads a kernel at its first launch, which may be
  /// impossible during a recording. The recording has this number, from 0 to recordings - 1, and
  /// replaces an earlier one. If launch() throws, nothing is recorded, the earlier recording
  /// remains, and the stream can be used. If a function of the device fails, the earlier recording
  /// may be lost.
  virtual void record(int recording, const std::function<void()>& launch) = 0;
  /// Enqueues the kernels of a recording, with the arguments that they were recorded with. Takes
  /// about as long as one launch.
  virtual void replay(int recording) = 0;

  virtual void wait() = 0;

  /// Records a point in time after the operations so far. If a point is recorded several times, the
  /// last one counts.
  virtual void mark(TimingPoint /*moment*/) {}
  /// Returns the durations between the points, all of which must have been marked and waited for,
  /// the time spent in wait() since the first point, and the number of the stream. Returns zeros if
  /// the stream does not measure.
  [[nodiscard]] virtual GpuPlanTimes times() { return {}; }
};

/// A device that does not complete a launch within this time hangs, independently of the plan: a
/// launch takes some tens of milliseconds, or seconds on a slow GPU with many plans in flight.
constexpr double device_timeout_s = 30;

/// Calls is_done() until it returns true, and sleep(seconds) between calls: for an eighth of the
/// elapsed time, but at least 50 µs and at most 200 µs. So a wait takes little longer than the
/// operation, and thirty streams that wait at the same time use a fraction of a core. The elapsed
/// time is the sum of the requested pauses, so that the time in which the process was stopped, or
/// waited for a core, does not count. Throws DeviceTimeout if this sum reaches device_timeout_s,
/// which takes about 40 s of real time, because each pause takes longer than requested. `doing` is
/// the operation, for the message.
void poll_until_done(const std::function<bool()>& is_done, const std::function<void(double)>& sleep,
                     const std::string& doing);

}  // namespace wallheat::gpu
