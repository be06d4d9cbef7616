#include "io/checksum.hpp"

#include <libdeflate.h>

namespace wallheat {

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // libdeflate begins anew if there is no pointer
  return ::libdeflate_crc32(before, bytes.data(), bytes.size());
}

}  // namespace wallheat
