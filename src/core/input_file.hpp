#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wallheat/error.hpp"

// Access to input files. Exceptions distinguish errors in the content of a file, which are final,
// from errors of the operating system, after which another host may succeed, and from a plan source
// that is unavailable.

namespace wallheat {

/// Owner of a file descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): it loses sight of pairs
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }
  /// Fills `bytes` from `offset`. Returns false, and errno is the error or 0, if the file cannot be
  /// read there or is shorter.
  [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Writes `bytes` at `offset`. Returns false, and errno is the error, if the file cannot be
  /// written.
  [[nodiscard]] bool write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

 private:
  int fd_;
};

/// A plan source as a whole cannot be read, possibly only for now: its directory or file system is
/// unavailable. No plan is to blame, so no plan fails.
struct SourceUnavailable : RunError {
  using RunError::RunError;
};

/// Thrown if a file cannot be read because of an error of the operating system (EMFILE, EIO,
/// ESTALE, EACCES), and not because of its content. Another host may be able to read it.
struct InputSystemError : InputError {
  using InputError::InputError;
};

/// Throws InputError if the errno `error` means that no such file can exist, on any host, and
/// InputSystemError otherwise.
[[noreturn]] void throw_input_error(const std::string& file, const std::string& problem, int error);

/// Content of a file. `name` is used in error messages.
struct NamedBytes {
  std::string name;
  std::vector<std::byte> bytes;
};

/// An existing file, open for reading. Thread-safe.
class InputFile {
 public:
  /// Opens the file. Throws InputError, whose message contains the name of the file, if it does not
  /// exist or is not a regular file, because opening a pipe could block forever. Throws
  /// InputSystemError if it cannot be opened.
  explicit InputFile(const std::filesystem::path& path);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns the size in bytes at the time of opening.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Fills `bytes`, starting at `offset`. Throws InputError if the file is shorter, and
  /// InputSystemError if it cannot be read.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Returns `count` bytes, starting at `offset`. Throws as read_at() does; does not allocate
  /// memory if the file is shorter.
  [[nodiscard]] std::vector<std::byte> read_range(std::uint64_t offset, std::uint64_t count) const;

 private:
  std::string name_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

/// Returns the content of a file. Throws as InputFile does.
[[nodiscard]] NamedBytes read_input_file(const std::filesystem::path& path);

}  // namespace wallheat
