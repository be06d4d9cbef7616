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

// File operations that throw an exception with the name of the file and the reason if they fail. A
// function syncs only if its comment or its name states that the result is durable or synced.

namespace wallheat {

/// Error of a system call.
struct SystemError : RunError {
  SystemError(const std::string& text, int code_) : RunError(text), code(code_) {}
  int code;  ///< errno
};

/// Returns the limit that an error of a file is about. Like limit_note(), but also for a file
/// system that has space and no free inode.
[[nodiscard]] std::string file_limit_note(const std::filesystem::path& file, int error);

/// Throws the SystemError "results.h5 cannot <what>: <message of the error>", followed by
/// file_limit_note().
[[noreturn]] void throw_system_error(const std::filesystem::path& file, const std::string& what,
                                     int error);

/// An open regular file. All functions throw SystemError, whose message contains the name of the
/// file and the reason of the operating system. The file must not be a symbolic link, a pipe or a
/// device: in a directory where others may write, a link could lead to any file, and opening a pipe
/// could block forever.
class File {
 public:
  /// `flags` as for open(2).
  File(std::filesystem::path path, int flags);
  /// Creates an empty file for appending. Throws SystemError if the name exists.
  [[nodiscard]] static File create(const std::filesystem::path& path);

  [[nodiscard]] int fd() const { return descriptor_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] struct stat info() const;
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(info().st_size); }
  /// Returns true if path() still refers to the open file.
  [[nodiscard]] bool path_still_refers_here() const;

  /// Appends all bytes, normally in one system call.
  void append(std::span<const std::byte> bytes);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// Fills `bytes`, starting at `offset`. Returns false if the file is too short or cannot be read.
  [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
    return descriptor_.read_at(offset, bytes);
  }
  void sync_data() const;
  void sync() const;
  /// Reduces the size of the file to 0.
  void truncate() const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
};

/// Opens a file. Returns nullopt if this fails with the errno `expected`.
[[nodiscard]] std::optional<File> open_unless_errno(int expected, const std::filesystem::path& path,
                                                    int flags);

/// Returns the status of a file, and follows symbolic links. Returns nullopt if there is no such
/// file.
[[nodiscard]] std::optional<struct stat> stat_if_exists(const std::filesystem::path& file);
[[nodiscard]] inline bool file_exists(const std::filesystem::path& file) {
  return stat_if_exists(file).has_value();
}

/// Returns the names of the files next to `path` that begin with the file name of `path`, which may
/// be its own. Returns an empty list if the directory does not exist, or if the user may not list
/// it. A directory may contain a million plans, so other names cost no memory.
[[nodiscard]] std::vector<std::string> names_starting_with(const std::filesystem::path& path);

/// Copies mode, owner and group of the file `old` to the open file `file`, which is going to
/// replace it. Does nothing if `old` does not exist. If the group cannot be set, the group's
/// permissions are dropped.
void copy_owner_and_mode(const std::filesystem::path& old, const File& file);
/// Copies mode, owner and group from the status `wanted` of the old file.
void copy_owner_and_mode(const struct stat& wanted, const File& file);

/// Syncs the directory of a file, so that earlier changes of its names are durable.
void sync_directory_of(const std::filesystem::path& file);

/// Removes a file. Returns false if it did not exist. Does not sync the directory.
bool remove_file(const std::filesystem::path& file);
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Renames a complete, synced file, and syncs the directory, so that the renaming is durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

// A file that is replaced atomically is written under a temporary name first. The name ends with a
// random number of 16 hexadecimal digits, so that no file of the user has it.

/// Returns a random number from the kernel. std::random_device asks the processor what it supports
/// each time, which is slow in a virtual machine.
[[nodiscard]] std::uint64_t random_number();

/// Returns a new temporary name. Create the file with O_EXCL.
[[nodiscard]] std::filesystem::path new_temporary_path(std::filesystem::path file);
/// Returns true if a writer of `file` gives this file name to a temporary file.
[[nodiscard]] bool is_temporary_name(const std::string& name, const std::filesystem::path& file);
/// Removes the temporary files that killed processes left next to `file`. Returns true if there
/// were any. Throws SystemError.
bool remove_temporary_files(const std::filesystem::path& file);

/// Replaces a small file atomically: readers see the old text or the new text. The file gets owner
/// and mode of the file `model`, if that is given and exists. Does not sync the file or the
/// directory.
void replace_file_atomically(const std::filesystem::path& file, std::string_view text,
                             const std::filesystem::path& model = {});
[[nodiscard]] std::string read_file(const std::filesystem::path& file);
/// Returns the text of a file that the user names; it may be a pipe. "-" is stdin. Throws RunError
/// if the file cannot be read, or contains zero bytes.
[[nodiscard]] std::string read_text_file(const std::string& file);

}  // namespace wallheat
