#pragma once

#include <cstddef>
#include <cstring>

#include "solve/gpu/stream.hpp"

namespace wallheat::gpu {

/// A stream whose device memory is the host's: what it is given is done at once.
class HostMemoryStream : public Stream {
 public:
  void copy(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t row_bytes, std::size_t rows) override {
    for (std::size_t row = 0; row < rows; ++row)
      std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                  static_cast<const std::byte*>(from) + row * from_pitch, row_bytes);
  }
  void clear(void* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
  void wait() override {}
};

}  // namespace wallheat::gpu
