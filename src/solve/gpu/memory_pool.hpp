#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace wallheat::gpu {

/// Memory that somebody else allocated; released with it.
using Memory = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

struct SizedMemory {
  Memory memory;
  std::size_t bytes = 0;
};

/// A device's memory as far as its solvers use it: each takes one piece for a plan and puts it back
/// afterwards. Where memory is short, because plans are large or somebody else uses the device,
/// one solver waits for another.
class MemoryPool {
 public:
  using Allocate = std::function<Memory(std::size_t bytes)>;

  /// A piece of at least so many bytes. `allocate` throws std::bad_alloc where too little is free;
  /// so does take(), where no piece is out that could be waited for.
  [[nodiscard]] SizedMemory take(std::size_t bytes, const Allocate& allocate);
  void put_back(SizedMemory piece);
  /// How many pieces are out.
  [[nodiscard]] int out();

  /// Counts the plans that solvers have in hand: more than there are pieces out, as each first
  /// chooses how many blocks its plan is to have. Returns how many there are now.
  int begin_plan() { return ++plans_; }
  void end_plan() { --plans_; }

 private:
  [[nodiscard]] SizedMemory take_idle(std::size_t bytes);
  /// Frees what is idle, or waits until more than `seen` pieces were put back. Returns false where
  /// neither can be.
  [[nodiscard]] bool make_room(std::uint64_t seen);

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<SizedMemory> idle_;
  int out_ = 0;
  std::uint64_t returns_ = 0;
  std::atomic<int> plans_ = 0;
};

}  // namespace wallheat::gpu
