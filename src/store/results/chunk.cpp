#include "store/results/chunk.hpp"

#include "io/checksum.hpp"

namespace wallheat::store {

bool read_chunk(const PosixFile& source, Offset offset, const Row& row,
                std::vector<std::byte>& chunk) {
  if (offset < 0 || row.field_bytes <= 0) return false;
  if (static_cast<std::uint64_t>(row.field_bytes) > source.size()) return false;
  chunk.resize(static_cast<std::size_t>(row.field_bytes));
  return source.read_at(static_cast<std::uint64_t>(offset), chunk) &&
         crc32_of(chunk) == row.field_crc32;
}

}  // namespace wallheat::store
