#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wallheat::store {

/// The CRC-32 of zlib, gzip and PNG (Python: zlib.crc32).
[[nodiscard]] std::uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace wallheat::store
