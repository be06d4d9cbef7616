#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/input_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

/// A system call failed.
struct SystemError : RunError {
  SystemError(const std::string& text, int code_) : RunError(text), code(code_) {}
  int code;  ///< errno
};

/// Returns the limit that an error of a file is about, like limit_note(), and also for a file
/// system that has no inode left although it has space.
[[nodiscard]] std::string file_limit_note(const std::filesystem::path& file, int error);

/// Throws the SystemError "results.h5 cannot <what>: <text of error>".
[[noreturn]] void throw_system_error(const std::filesystem::path& file, const std::string& what,
                                     int error);

/// An open regular file. Every call throws SystemError, one sentence that names the file and the
/// system's reason. Links are not followed: in a directory where others may write, one could lead
/// to any file, and a pipe would be waited for without end.
class File {
 public:
  /// flags as for open(2).
  File(std::filesystem::path path, int flags);
  /// Creates an empty file to append to. Throws SystemError if the name exists.
  [[nodiscard]] static File create(const std::filesystem::path& path);

  [[nodiscard]] int fd() const { return descriptor_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] struct stat info() const;
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(info().st_size); }
  /// Whether its name still leads to it.
  [[nodiscard]] bool path_still_refers_here() const;

  /// Appends everything in as few calls as the system needs, normally one.
  void append(std::span<const std::byte> bytes);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// Fills `bytes` from `offset`; false if the file is too short or cannot be read there.
  [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
    return descriptor_.read_at(offset, bytes);
  }
  void sync_data() const;
  void sync() const;
  /// Empties the file.
  void truncate() const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
};

/// Opens a file; nothing if the system says `expected` instead.
[[nodiscard]] std::optional<File> open_unless_errno(int expected, const std::filesystem::path& path,
                                                    int flags);

/// What is known of a name, whose link is followed; nothing if there is no such file.
[[nodiscard]] std::optional<struct stat> stat_if_exists(const std::filesystem::path& file);
[[nodiscard]] inline bool file_exists(const std::filesystem::path& file) {
  return stat_if_exists(file).has_value();
}

/// Returns the names in a directory; none if it does not exist, or if this user may not list it.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& directory);

/// Gives an open file the mode, owner and group of the one that it is to replace; if that is
/// missing, nothing. If the group cannot be given, its rights are not given either.
void copy_owner_and_mode(const std::filesystem::path& old, const File& file);

/// Makes what happened to names in the file's directory durable.
void sync_directory_of(const std::filesystem::path& file);

/// Removes a file; false if it was not there. Durable it is not.
bool remove_file(const std::filesystem::path& file);
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Moves a complete, synced file into its place, and makes the move itself durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Replaces a small file so that readers see the old text or the new one. Durable it is not.
void replace_file_atomically(const std::filesystem::path& file, std::string_view text);
[[nodiscard]] std::string read_file(const std::filesystem::path& file);
/// The text of a file that a user names, which may be a pipe; - is stdin. Throws RunError.
[[nodiscard]] std::string read_text_file(const std::string& file);

}  // namespace wallheat
