#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// A file that was compressed for a zip archive.
struct ZipMember {
  std::string name;
  std::vector<std::byte> packed;
  std::uint32_t size = 0;
  std::uint32_t crc32 = 0;
};

/// Several threads may each compress one. Throws RunError if it has 4 GiB or more.
[[nodiscard]] ZipMember compress_member(std::string name, std::string_view bytes);

/// Writes a zip archive, of any size, from its beginning to its end.
class ZipWriter {
 public:
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  void add(const ZipMember& member);
  /// Writes the list of members, which makes the archive complete.
  void finish();

 private:
  void write(std::string_view bytes);

  std::ostream& out_;
  std::uint64_t offset_ = 0;
  std::uint64_t members_ = 0;
  std::string list_;
};

/// The magic bytes of a zip archive that has members.
inline constexpr std::string_view zip_magic = "PK";

}  // namespace wallheat
