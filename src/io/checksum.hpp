#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wallheat {

/// The CRC-32 of zlib, gzip and PNG (Python: zlib.crc32). With that of what stands before, of both.
[[nodiscard]] std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace wallheat
