#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wallheat {

/// Returns the 64-bit FNV-1a hash of bytes (http://www.isthe.com/chongo/tech/comp/fnv/). It is for
/// short data: the content of plans is hashed by plan_hash(), which is faster. `hash` is the hash
/// of the preceding bytes.
[[nodiscard]] inline std::uint64_t fnv1a(std::span<const std::byte> bytes,
                                         std::uint64_t hash = 0xcbf29ce484222325) {
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace wallheat
