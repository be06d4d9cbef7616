#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/input_file.hpp"

namespace wallheat {

namespace zip_format {

// Zip format; all numbers are little-endian. An archive is a sequence of members, each preceded by
// a local header, then the central directory with one header per member, then the end record, which
// locates the central directory. Specification:
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT

/// Signatures at the beginning of the parts.
inline constexpr std::string_view local_header_signature = "PK\x03\x04";
inline constexpr std::string_view central_header_signature = "PK\x01\x02";
inline constexpr std::string_view zip64_end_signature = "PK\x06\x06";
/// Signature of the locator, which contains the offset of the zip64 end record.
inline constexpr std::string_view zip64_locator_signature = "PK\x06\x07";
inline constexpr std::string_view end_signature = "PK\x05\x06";

/// Sizes of the parts in bytes, without names, extra fields and comments.
inline constexpr std::size_t local_header_bytes = 30;
inline constexpr std::size_t central_header_bytes = 46;
inline constexpr std::size_t zip64_end_bytes = 56;
inline constexpr std::size_t locator_bytes = 20;
inline constexpr std::size_t end_bytes = 22;
inline constexpr std::size_t max_comment_bytes = 65535;

/// Compression methods.
inline constexpr std::uint16_t stored = 0;
inline constexpr std::uint16_t deflated = 8;

/// A 32-bit field with this value is replaced by a 64-bit number in the extra field with this ID.
inline constexpr std::uint32_t zip64_sentinel = 0xffffffff;
inline constexpr std::uint16_t zip64_extra_id = 1;

}  // namespace zip_format

/// A zip archive of any size, as `zip`, numpy.savez_compressed and Python's zipfile make it. The
/// central directory is not kept in memory, because it may be large. Thread-safe.
class ZipArchive {
 public:
  struct Member {
    std::string name;                   ///< with slashes, even if the archive has backslashes
    std::uint64_t entry_offset = 0;     ///< offset of its header in the central directory, in bytes
    std::uint64_t offset = 0;           ///< offset in the file, in bytes
    std::uint64_t compressed_size = 0;  ///< size in the file, in bytes
    std::uint64_t size = 0;             ///< size of its content, in bytes
    std::uint32_t crc32 = 0;            ///< CRC-32 of its content
    std::uint16_t method = 0;           ///< 0: stored, 8: deflated
    bool encrypted = false;
  };

  /// Throws RunError if the file is not a zip archive, or if its central directory is damaged.
  explicit ZipArchive(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Returns the number of members according to the end record.
  [[nodiscard]] std::uint64_t members() const { return members_; }
  /// Calls visit() with each member, in the order of the central directory. Throws RunError if the
  /// central directory is damaged.
  void for_each_member(const std::function<void(const Member&)>& visit) const;
  /// Returns the member whose header is at this offset in the central directory. Throws InputError
  /// if there is none.
  [[nodiscard]] Member member_at(std::uint64_t entry_offset) const;
  /// Returns the content of a member. Throws InputError, whose message contains archive and member,
  /// if it is damaged.
  [[nodiscard]] NamedBytes read(const Member& member) const;

 private:
  void find_central_directory();

  std::filesystem::path path_;
  InputFile file_;
  std::uint64_t directory_offset_ = 0;
  std::uint64_t directory_bytes_ = 0;
  std::uint64_t members_ = 0;
};

}  // namespace wallheat
