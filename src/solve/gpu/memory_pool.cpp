#include "solve/gpu/memory_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace wallheat::gpu {
namespace {

/// Larger pieces are rare, and others may want the memory.
constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;

}  // namespace

SizedMemory MemoryPool::take(std::size_t bytes, const Allocate& allocate) {
  for (;;) {
    std::uint64_t seen = 0;
    {
      const std::scoped_lock lock(mutex_);
      SizedMemory idle = take_idle(bytes);
      if (idle.memory) return idle;
      seen = returns_;
    }
    try {
      SizedMemory piece{allocate(bytes), bytes};
      const std::scoped_lock lock(mutex_);
      ++out_;
      return piece;
    } catch (const std::bad_alloc&) {
      if (!make_room(seen)) throw;
    }
  }
}

void MemoryPool::put_back(SizedMemory piece) {
  // Freed before anybody hears of it, and outside of the lock, as that may take a while.
  if (piece.bytes > most_kept_bytes) piece = {};
  {
    const std::scoped_lock lock(mutex_);
    --out_;
    ++returns_;
    if (piece.memory) idle_.push_back(std::move(piece));
  }
  returned_.notify_all();
}

int MemoryPool::out() {
  const std::scoped_lock lock(mutex_);
  return out_;
}

SizedMemory MemoryPool::take_idle(std::size_t bytes) {
  const auto fits = std::find_if(idle_.begin(), idle_.end(), [bytes](const SizedMemory& piece) {
    return piece.bytes >= bytes;
  });
  if (fits == idle_.end()) return {};
  SizedMemory piece = std::move(*fits);
  idle_.erase(fits);
  ++out_;
  return piece;
}

bool MemoryPool::make_room(std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  if (!idle_.empty()) {
    idle_.clear();
    return true;
  }
  if (returns_ == seen && out_ == 0) return false;
  returned_.wait(lock, [this, seen] { return returns_ != seen; });
  return true;
}

}  // namespace wallheat::gpu
