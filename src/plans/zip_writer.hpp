#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// A compressed file for a zip archive.
struct ZipMember {
  std::string name;
  std::vector<std::byte> packed;
  std::uint32_t size = 0;
  std::uint32_t crc32 = 0;
};

/// Compresses a file. Thread-safe. Throws RunError if the file is larger than 4 GiB minus 1 MiB.
[[nodiscard]] ZipMember compress_member(std::string name, std::string_view bytes);

/// Writes a zip archive of any size, in sequence.
class ZipWriter {
 public:
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  void add(const ZipMember& member);
  /// Writes the central directory, which completes the archive.
  void finish();

 private:
  void write(std::string_view bytes);

  std::ostream& out_;
  std::uint64_t offset_ = 0;
  std::uint64_t members_ = 0;
  /// The central directory so far, in blocks of one MiB: a single string of a million plans would
  /// be copied whenever it grows, and would then need memory twice.
  std::vector<std::string> directory_blocks_;
};

/// Magic bytes of a zip archive that is not empty.
inline constexpr std::string_view zip_magic = "PK";

}  // namespace wallheat
