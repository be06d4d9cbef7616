#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/input_file.hpp"

namespace wallheat {

/// A zip archive, as `zip`, numpy.savez_compressed and Python's zipfile make it, of any size. Its
/// list of members stays in the file: of many it would take much memory. Several threads may read
/// at once.
class ZipArchive {
 public:
  struct Member {
    std::string name;
    std::uint64_t entry_offset = 0;  ///< of its entry in the list, in bytes
    std::uint64_t offset = 0;        ///< where it begins in the file
    std::uint64_t packed = 0;        ///< bytes that it takes there
    std::uint64_t size = 0;          ///< bytes that it holds
    std::uint32_t crc32 = 0;         ///< of what it holds
    std::uint16_t method = 0;        ///< 0: stored, 8: deflated
    bool encrypted = false;
  };

  /// Throws RunError if it is no zip archive, or damaged as a whole.
  explicit ZipArchive(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// How many the archive says that it has.
  [[nodiscard]] std::uint64_t members() const { return members_; }
  /// In the order of the list, until a visit returns false; returns whether none did. Throws
  /// RunError if the list is damaged.
  [[nodiscard]] bool for_each_member(const std::function<bool(const Member&)>& visit) const;
  /// The member of the entry at that offset in the list. Throws InputError.
  [[nodiscard]] Member member_at(std::uint64_t entry_offset) const;
  /// What it holds, into memory that was used before. Throws InputError, which names archive and
  /// member, if it is damaged.
  void read(const Member& member, NamedBytes& into) const;
  [[nodiscard]] NamedBytes read(const Member& member) const;

 private:
  void find_list();

  std::filesystem::path path_;
  InputFile file_;
  std::uint64_t list_offset_ = 0;
  std::uint64_t list_bytes_ = 0;
  std::uint64_t members_ = 0;
};

}  // namespace wallheat
