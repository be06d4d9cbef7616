#include "store/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace wallheat::store {
namespace {

void sync_directory_of(const std::filesystem::path& file) {
  const auto directory = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  PosixFile opened(directory, O_RDONLY | O_DIRECTORY);
  // Some network file systems know no fsync of a directory; they make renames durable themselves.
  if (::fsync(opened.fd()) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EBADF) {
    throw_system_error(directory, "be made durable", errno);
  }
}

}  // namespace

void throw_system_error(const std::filesystem::path& file, const std::string& what, int error) {
  throw SystemError(file.string() + " cannot " + what + ": " + std::strerror(error), error);
}

PosixFile::PosixFile(std::filesystem::path path, int flags) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), flags | O_CLOEXEC, 0666);
  if (fd_ < 0) throw_system_error(path_, "be opened", errno);
}

PosixFile::~PosixFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t PosixFile::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) throw_system_error(path_, "be examined", errno);
  return static_cast<std::uint64_t>(info.st_size);
}

void PosixFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error(path_, "be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

bool PosixFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto got = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

void PosixFile::sync_data() {
  if (::fdatasync(fd_) != 0) throw_system_error(path_, "be made durable", errno);
}

void PosixFile::sync_all() {
  if (::fsync(fd_) != 0) throw_system_error(path_, "be made durable", errno);
}

void sync_file(const std::filesystem::path& file) { PosixFile(file, O_RDWR).sync_all(); }

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw_system_error(from, "be renamed to " + to.string(), errno);
  }
  sync_directory_of(to);
}

void remove_durably(const std::filesystem::path& file) {
  if (::unlink(file.c_str()) != 0) {
    if (errno == ENOENT) return;
    throw_system_error(file, "be removed", errno);
  }
  sync_directory_of(file);
}

}  // namespace wallheat::store
