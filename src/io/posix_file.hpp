#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/files.hpp"
#include "io/system.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

/// An open file with the few calls the store needs. Every call throws SystemError,
/// one sentence that names the file and the system's reason. Only regular files are opened, and
/// links are not followed: in a directory where others may write, one could lead to any file, and a
/// pipe would be waited for without end.
class PosixFile {
 public:
  /// flags as for open(2).
  PosixFile(System& system, std::filesystem::path path, int flags);
  /// A new, empty file to append to; what has its name is removed, not written into.
  [[nodiscard]] static PosixFile make(System& system, const std::filesystem::path& path);
  PosixFile(PosixFile&& other) noexcept;
  PosixFile& operator=(PosixFile&& other) noexcept;
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint64_t size() const;
  /// Appends everything in as few calls as the system needs, normally one.
  void append(std::span<const std::byte> bytes);
  /// Fills `bytes` from `offset`; false where the file is too short or cannot be read there.
  [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  void sync_data();
  void sync_all();
  /// Empties the file.
  void clear();
  /// For sentences about a file that was renamed while open.
  void now_called(std::filesystem::path path) { path_ = std::move(path); }

 private:
  System* system_;
  std::filesystem::path path_;
  int fd_;
};

/// What is known of a name, whose link is followed; nothing if there is no such file. Throws
/// SystemError.
[[nodiscard]] std::optional<struct stat> look_at(System& system, const std::filesystem::path& file);
[[nodiscard]] bool exists(System& system, const std::filesystem::path& file);
[[nodiscard]] bool is_directory(System& system, const std::filesystem::path& file);
[[nodiscard]] bool is_regular_file(System& system, const std::filesystem::path& file);

/// Gives an open file the mode, owner and group of the one that it is to replace; where that is
/// missing, nothing. Where the group cannot be given, its rights are not given either.
void take_rights_of(System& system, const std::filesystem::path& old,
                    const std::filesystem::path& file, int fd);

void sync_file(System& system, const std::filesystem::path& file);

/// Lets what is read from a file be what is on the disk. After a failed sync the kernel may go on
/// to show what it could not write, and never tries again.
void forget_cached(System& system, const std::filesystem::path& file);

/// Makes what happened to names in the file's directory durable.
void sync_directory_of(System& system, const std::filesystem::path& file);

/// Removes a file; false if it was not there. Durable it is not.
bool remove_file(System& system, const std::filesystem::path& file);

/// Moves a complete, synced file into its place, and makes the move itself durable.
void rename_durably(System& system, const std::filesystem::path& from,
                    const std::filesystem::path& to);

/// Removes a file if it is there, and makes that durable.
void remove_durably(System& system, const std::filesystem::path& file);

/// Replaces a small file so that readers see the old text or the new one. Durable it is not.
void replace_text(System& system, const std::filesystem::path& file, std::string_view text);
[[nodiscard]] std::string read_whole(System& system, const std::filesystem::path& file);

}  // namespace wallheat
