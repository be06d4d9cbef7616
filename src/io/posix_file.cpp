#include "io/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "io/file_names.hpp"

namespace wallheat {
namespace {

void sync_directory_of(const std::filesystem::path& file) {
  const auto directory = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const FileDescriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) throw_system_error(directory, "be opened", errno);
  const int error = ::fsync(opened.get()) == 0 ? 0 : errno;
  // Some network file systems know no fsync of a directory; they make renames durable themselves.
  if (error != 0 && error != EINVAL && error != ENOTSUP && error != EBADF) {
    throw_system_error(directory, "be made durable", error);
  }
}

/// False if there was none.
bool remove_if_there(const std::filesystem::path& file) {
  if (::unlink(file.c_str()) == 0) return true;
  if (errno != ENOENT) throw_system_error(file, "be removed", errno);
  return false;
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw_system_error(from, "be renamed to " + to.string(), errno);
  }
}

[[noreturn]] void refuse_kind(const std::filesystem::path& file, mode_t mode) {
  const char* kind = S_ISLNK(mode)    ? "a link"
                     : S_ISFIFO(mode) ? "a named pipe"
                     : S_ISDIR(mode)  ? "a directory"
                                      : "a device or socket";
  throw SystemError(
      file.string() + " is " + kind + " where a regular file must be; remove it or name another",
      EINVAL);
}

}  // namespace

void throw_system_error(const std::filesystem::path& file, const std::string& what, int error) {
  throw SystemError(file.string() + " cannot " + what + ": " + std::strerror(error), error);
}

PosixFile::PosixFile(std::filesystem::path path, int flags)
    : path_(std::move(path)),
      // Not to wait for the other end of a pipe; regular files do not care.
      fd_(::open(path_.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666)) {
  const int error = errno;
  struct stat info {};
  if (fd() < 0) {
    if (::lstat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && error != EEXIST) {
      refuse_kind(path_, info.st_mode);
    }
    throw_system_error(path_, (flags & O_CREAT) != 0 ? "be made" : "be opened", error);
  }
  if (::fstat(fd(), &info) == 0 && S_ISREG(info.st_mode)) return;
  refuse_kind(path_, info.st_mode);
}

PosixFile PosixFile::make(const std::filesystem::path& path) {
  remove_if_there(path);
  return {path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND};
}

std::uint64_t PosixFile::size() const {
  struct stat info {};
  if (::fstat(fd(), &info) != 0) throw_system_error(path_, "be examined", errno);
  return static_cast<std::uint64_t>(info.st_size);
}

void PosixFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error(path_, "be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

bool PosixFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto got = ::pread(fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

void PosixFile::sync_data() {
  if (::fdatasync(fd()) != 0) throw_system_error(path_, "be made durable", errno);
}

void PosixFile::sync_all() {
  if (::fsync(fd()) != 0) throw_system_error(path_, "be made durable", errno);
}

void sync_file(const std::filesystem::path& file) { PosixFile(file, O_RDWR).sync_all(); }

void take_rights_of(const std::filesystem::path& old, const std::filesystem::path& file, int fd) {
  struct stat wanted {};
  struct stat present {};
  if (::stat(old.c_str(), &wanted) != 0) {
    if (errno == ENOENT) return;
    throw_system_error(old, "be examined", errno);
  }
  if (::fstat(fd, &present) != 0) throw_system_error(file, "be examined", errno);
  mode_t mode = wanted.st_mode & 0777;
  constexpr auto same_owner = static_cast<uid_t>(-1);
  const bool differs = wanted.st_uid != present.st_uid || wanted.st_gid != present.st_gid;
  // Only root gives files away, and everyone else only to groups of his own.
  if (differs && ::fchown(fd, wanted.st_uid, wanted.st_gid) != 0 &&
      ::fchown(fd, same_owner, wanted.st_gid) != 0) {
    mode &= ~mode_t{S_IRWXG};
  }
  if ((present.st_mode & 0777) != mode && ::fchmod(fd, mode) != 0)
    throw_system_error(file, "be given its rights", errno);
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  rename_file(from, to);
  sync_directory_of(to);
}

void remove_durably(const std::filesystem::path& file) {
  if (remove_if_there(file)) sync_directory_of(file);
}

void replace_text(const std::filesystem::path& file, std::string_view text) {
  const auto temporary = temporary_path(file);
  PosixFile::make(temporary).append(std::as_bytes(std::span(text)));
  rename_file(temporary, file);
}

std::string read_whole(const std::filesystem::path& file) {
  const PosixFile in(file, O_RDONLY);
  std::string text(in.size(), '\0');
  if (!in.read_at(0, std::as_writable_bytes(std::span(text)))) {
    throw_system_error(file, "be read", EIO);
  }
  return text;
}

}  // namespace wallheat
