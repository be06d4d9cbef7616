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

// Zip archives, of which all numbers are little-endian: members, each after a local header, then a
// list of them, whose entries say more, then an end that says where the list is.
// The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT

/// What the parts begin with.
inline constexpr std::string_view local_header_signature = "PK\x03\x04";
inline constexpr std::string_view central_header_signature = "PK\x01\x02";
inline constexpr std::string_view zip64_end_signature = "PK\x06\x06";
inline constexpr std::string_view zip64_locator_signature =
    "PK\x06\x07";  ///< says where the large end is
inline constexpr std::string_view end_signature = "PK\x05\x06";

/// Bytes of the parts without names, extra fields and comments.
inline constexpr std::size_t local_header_bytes = 30;
inline constexpr std::size_t central_header_bytes = 46;
inline constexpr std::size_t zip64_end_bytes = 56;
inline constexpr std::size_t locator_bytes = 20;
inline constexpr std::size_t end_bytes = 22;
inline constexpr std::size_t max_comment_bytes = 65535;

/// Methods of compression.
inline constexpr std::uint16_t stored = 0;
inline constexpr std::uint16_t deflated = 8;

/// A 32-bit number that stands for a 64-bit one in the extra field of this kind.
inline constexpr std::uint32_t zip64_sentinel = 0xffffffff;
inline constexpr std::uint16_t zip64_extra_id = 1;

}  // namespace zip_format

/// A zip archive, as `zip`, numpy.savez_compressed and Python's zipfile make it, of any size. Its
/// list of members stays in the file: of many it would take much memory. Several threads may read
/// at once.
class ZipArchive {
 public:
  struct Member {
    std::string name;                   ///< with slashes, also if the archive has backslashes
    std::uint64_t entry_offset = 0;     ///< of its entry in the list, in bytes
    std::uint64_t offset = 0;           ///< where it begins in the file
    std::uint64_t compressed_size = 0;  ///< bytes that it takes there
    std::uint64_t size = 0;             ///< bytes that it holds
    std::uint32_t crc32 = 0;            ///< of what it holds
    std::uint16_t method = 0;           ///< 0: stored, 8: deflated
    bool encrypted = false;
  };

  /// Throws RunError if it is no zip archive, or damaged as a whole.
  explicit ZipArchive(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// How many the archive says that it has.
  [[nodiscard]] std::uint64_t members() const { return members_; }
  /// In the order of the list. Throws RunError if it is damaged.
  void for_each_member(const std::function<void(const Member&)>& visit) const;
  /// The member of the entry at that offset in the list. Throws InputError.
  [[nodiscard]] Member member_at(std::uint64_t entry_offset) const;
  /// What it holds. Throws InputError, which names archive and member, if it is damaged.
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
