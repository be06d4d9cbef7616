#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "solve/gpu/stream.hpp"
#include "wallheat/solver.hpp"

namespace wallheat::gpu {

/// The solvers that have a plan on a device now: where memory runs short, one waits for another.
class Occupants {
 public:
  void enter();
  void leave();
  /// How many have left so far.
  [[nodiscard]] std::uint64_t departures();
  /// Waits until one more has left than `seen`. Returns false where nobody will: all others wait,
  /// too, or there are none.
  [[nodiscard]] bool wait_for_departure(std::uint64_t seen);

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;
  int waiting_ = 0;
  std::uint64_t departures_ = 0;
};

/// Which kernel solves; tests choose, others leave it to the plan's size.
enum class Kernel { automatic, cluster, grid, streaming };

/// A solver on a stream of its own. Solves as GpuDevice::make_solver says; throws std::bad_alloc
/// where somebody else has the memory that a plan needs. RunError where the device has no such
/// kernel.
[[nodiscard]] std::unique_ptr<Solver> make_stream_solver(std::unique_ptr<Stream> stream,
                                                         std::shared_ptr<Occupants> occupants,
                                                         Kernel kernel = Kernel::automatic);

}  // namespace wallheat::gpu
