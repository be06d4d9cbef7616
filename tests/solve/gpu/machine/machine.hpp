#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>

// A GPU emulator. It runs the source of the kernels, with each thread as a fiber, and warps in
// random order. A thread runs until it waits for others. Asynchronous stores arrive in random
// order, some of them late. Errors that a GPU would not detect end the launch: see Violation. The
// emulator does not cover timing, the code that nvcc generates, or late visibility of ordinary
// stores.

namespace wallheat::gpu {

/// Thrown if a kernel accesses memory outside of its shared memory, or a block that has not started
/// or may have ended; waits indefinitely; announces a wrong number of bytes to an mbarrier; stores
/// into a block whose mbarriers are not visible to others, or atomically into another block. The
/// message names block and thread.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The blocks of a launch.
struct Blocks {
  int count;
  int threads;               ///< number of threads per block, a multiple of 32
  std::size_t shared_bytes;  ///< dynamic shared memory per block
  bool is_cluster;           ///< all blocks run at the same time; otherwise one after the other
};

class Machine {
 public:
  /// `seed` determines the order in which threads run.
  explicit Machine(std::uint64_t seed) : random_(seed) {}

  /// Runs a kernel to completion. Throws Violation.
  void run(const Blocks& blocks, const std::function<void()>& kernel);

  std::int64_t asynchronous_stores = 0;
  /// Number of asynchronous stores before which their thread, since its last barrier, stored into
  /// its own block. They arrive later than necessary.
  std::int64_t delayed_stores = 0;

 private:
  std::mt19937_64 random_;
};

}  // namespace wallheat::gpu
