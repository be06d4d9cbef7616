#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>

// A GPU that is a program: it runs the source of the kernels, each thread as a fiber, warps in
// random order. A thread runs until it waits for others. Asynchronous stores arrive in random
// order, some late. What a GPU would let pass, and would get wrong now and then, ends the launch
// here: see Violation. It knows nothing of time, of what nvcc makes of the source, or of ordinary
// stores that are seen late.

namespace wallheat::gpu {

/// What no kernel may do: reach outside of its shared memory, or into a block that has not begun or
/// may have ended; wait for ever; tell an mbarrier of other bytes than come; store into a block
/// whose mbarriers were not shown to others, or atomically into another block. Says block and
/// thread.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The blocks of a launch.
struct Blocks {
  int count;
  int threads;               ///< of a block, a multiple of 32
  std::size_t shared_bytes;  ///< of a block, dynamic
  bool is_cluster;           ///< all blocks run at the same time; else one after the other
};

class Machine {
 public:
  /// `seed` is that of the order in which threads run.
  explicit Machine(std::uint64_t seed) : random_(seed) {}

  /// Runs a kernel to its end. Throws Violation.
  void run(const Blocks& blocks, const std::function<void()>& kernel);

  std::int64_t asynchronous_stores = 0;

 private:
  std::mt19937_64 random_;
};

}  // namespace wallheat::gpu
