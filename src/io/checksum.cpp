#include "io/checksum.hpp"

#include <zlib.h>

#include "io/checksum_instructions.hpp"

namespace wallheat {

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before) {
  if (const auto crc = crc32_by_instructions(bytes, before)) return *crc;
  if (bytes.empty()) return before;  // zlib begins anew where there is no pointer
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace wallheat
