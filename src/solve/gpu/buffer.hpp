#pragma once

#include <bit>
#include <cstddef>

#include "solve/gpu/stream.hpp"

// The memory of a GPU's solver: what lies where in it, and how it is kept from plan to plan.

namespace wallheat::gpu {

/// An array in a piece of memory.
template <class T>
struct Slice {
  std::size_t begin;  ///< in bytes
  [[nodiscard]] T* in(std::byte* memory) const { return reinterpret_cast<T*>(memory + begin); }
};

/// Lays arrays out one after the other; the same layout serves twins on host and device.
class Layout {
 public:
  template <class T>
  [[nodiscard]] Slice<T> add(std::size_t count) {
    constexpr std::size_t alignment = 256;
    const Slice<T> slice{bytes_};
    bytes_ += (count * sizeof(T) + alignment - 1) / alignment * alignment;
    return slice;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Memory that is kept from plan to plan. It grows in powers of two, as CUDA waits for the whole
/// device before it frees memory. Larger pieces are rare, and others may want them.
class Buffer {
 public:
  /// Returns at least `bytes` bytes; what was in them is gone. `allocate` makes a Memory.
  template <class Allocate>
  [[nodiscard]] std::byte* reserve(std::size_t bytes, const Allocate& allocate) {
    if (bytes > bytes_) {
      const std::size_t rounded = bytes > most_kept_bytes ? bytes : std::bit_ceil(bytes);
      *this = {};  // first, so that the peak is not both
      memory_ = allocate(rounded);
      bytes_ = rounded;
    }
    return memory_.get();
  }
  void release_if_large() {
    if (bytes_ > most_kept_bytes) *this = {};
  }

 private:
  static constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;
  Memory memory_;
  std::size_t bytes_ = 0;
};

}  // namespace wallheat::gpu
