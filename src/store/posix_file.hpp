#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat::store {

/// Owner of a file descriptor with the few calls the store needs. Every call throws SystemError,
/// one sentence that names the file and the system's reason.
class PosixFile {
 public:
  /// flags as for open(2).
  PosixFile(std::filesystem::path path, int flags);
  PosixFile(PosixFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  PosixFile& operator=(PosixFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~PosixFile();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint64_t size() const;
  /// Appends everything in as few calls as the system needs, normally one.
  void append(std::span<const std::byte> bytes);
  /// Fills `bytes` from `offset`; false where the file is too short or cannot be read there.
  [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  void sync_data();
  void sync_all();
  /// For sentences about a file that was renamed while open.
  void now_called(std::filesystem::path path) { path_ = std::move(path); }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

/// A system call failed.
struct SystemError : RunError {
  SystemError(const std::string& text, int code_) : RunError(text), code(code_) {}
  int code;  ///< errno
};

/// Throws the SystemError "results.h5 cannot <what>: <text of error>".
[[noreturn]] void throw_system_error(const std::filesystem::path& file, const std::string& what,
                                     int error);

void sync_file(const std::filesystem::path& file);

/// Moves a complete, synced file into its place, and makes the move itself durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a file if it is there, and makes that durable.
void remove_durably(const std::filesystem::path& file);

}  // namespace wallheat::store
