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
  /// Fills `bytes` from `offset`; false if the file is shorter or cannot be read there.
  [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// False, and errno says why, if it cannot be written.
  [[nodiscard]] bool write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

 private:
  int fd_;
};

/// A source of plans as a whole cannot be read, maybe for a while only: its file system is away, or
/// its directory. No plan's fault.
struct SourceUnavailable : RunError {
  using RunError::RunError;
};

/// What a file holds; `name` is for sentences about it.
struct NamedBytes {
  std::string name;
  std::vector<std::byte> bytes;
};

/// An existing file, open for reading. Several threads may read at once.
class InputFile {
 public:
  /// Throws InputError, which names the file, if it cannot be opened or is no regular file: a pipe
  /// would be waited for without end.
  explicit InputFile(const std::filesystem::path& path);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// In bytes, when it was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset` on. Throws InputError if the file is shorter, or cannot be
  /// read.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// `count` bytes from `offset` on. Throws InputError, and asks for no memory, if the file is
  /// shorter.
  [[nodiscard]] std::vector<std::byte> read_range(std::uint64_t offset, std::uint64_t count) const;

 private:
  std::string name_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

/// All of a file. Throws InputError.
[[nodiscard]] NamedBytes read_input_file(const std::filesystem::path& path);

}  // namespace wallheat
