#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace wallheat {

/// The CRC-32 of bytes behind others, whose CRC-32 is `before`, by instructions of this machine
/// that zlib does not use. Nothing where it has none, or for less than 16 bytes.
[[nodiscard]] std::optional<std::uint32_t> crc32_by_instructions(std::span<const std::byte> bytes,
                                                                 std::uint32_t before);

}  // namespace wallheat
