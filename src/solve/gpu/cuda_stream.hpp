#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "solve/gpu/stream.hpp"

namespace wallheat::gpu {

/// What the streams of a device have in common.
struct SharedByStreams {
  /// The device hangs. What waits for it, or frees memory of it, would do so for ever.
  std::atomic<bool> is_silent = false;
  std::atomic<std::int32_t> streams = 0;  ///< made so far
};

/// A CUDA stream of its own on a device. Throws DeviceFault.
[[nodiscard]] std::unique_ptr<Stream> make_cuda_stream(int ordinal, const Capacity& capacity,
                                                       std::shared_ptr<SharedByStreams> shared);

}  // namespace wallheat::gpu
