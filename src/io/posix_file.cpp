#include "io/posix_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "io/file_names.hpp"

namespace wallheat {
namespace {

void rename_file(System& system, const std::filesystem::path& from,
                 const std::filesystem::path& to) {
  if (system.rename(from.c_str(), to.c_str()) != 0) {
    throw_system_error(from, "be renamed to " + to.string(), errno);
  }
}

[[noreturn]] void refuse_kind(const std::filesystem::path& file, mode_t mode) {
  const char* kind = S_ISLNK(mode)    ? "a link"
                     : S_ISFIFO(mode) ? "a named pipe"
                     : S_ISDIR(mode)  ? "a directory"
                                      : "a device or socket";
  throw SystemError(
      file.string() + " is " + kind + " where a regular file must be; name another",
      EINVAL);
}

}  // namespace

PosixFile::PosixFile(System& system, std::filesystem::path path, int flags)
    : system_(&system),
      path_(std::move(path)),
      // Not to wait for the other end of a pipe; regular files do not care.
      fd_(system.open(path_.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                      0666)) {
  const int error = errno;
  struct stat info {};
  if (fd_ < 0) {
    if (system.lstat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && error != EEXIST) {
      refuse_kind(path_, info.st_mode);
    }
    throw_system_error(path_, (flags & O_CREAT) != 0 ? "be made" : "be opened", error);
  }
  if (system.fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) return;
  system.close(std::exchange(fd_, -1));
  refuse_kind(path_, info.st_mode);
}

PosixFile::PosixFile(PosixFile&& other) noexcept
    : system_(other.system_), path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

PosixFile& PosixFile::operator=(PosixFile&& other) noexcept {
  std::swap(system_, other.system_);
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

PosixFile::~PosixFile() {
  if (fd_ >= 0) system_->close(fd_);
}

PosixFile PosixFile::make(System& system, const std::filesystem::path& path) {
  remove_file(system, path);
  return {system, path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND};
}

std::uint64_t PosixFile::size() const {
  struct stat info {};
  if (system_->fstat(fd_, &info) != 0) throw_system_error(path_, "be examined", errno);
  return static_cast<std::uint64_t>(info.st_size);
}

void PosixFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = system_->write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error(path_, "be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

bool PosixFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto got = system_->pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

void PosixFile::sync_data() {
  if (system_->fdatasync(fd_) != 0) throw_system_error(path_, "be made durable", errno);
}

void PosixFile::sync_all() {
  if (system_->fsync(fd_) != 0) throw_system_error(path_, "be made durable", errno);
}

void PosixFile::clear() {
  if (system_->ftruncate(fd_, 0) != 0) throw_system_error(path_, "be written", errno);
}

std::optional<struct stat> look_at(System& system, const std::filesystem::path& file) {
  struct stat info {};
  if (system.stat(file.c_str(), &info) == 0) return info;
  if (errno != ENOENT && errno != ENOTDIR) throw_system_error(file, "be examined", errno);
  return std::nullopt;
}

bool exists(System& system, const std::filesystem::path& file) {
  return look_at(system, file).has_value();
}

bool is_directory(System& system, const std::filesystem::path& file) {
  const auto info = look_at(system, file);
  return info && S_ISDIR(info->st_mode);
}

bool is_regular_file(System& system, const std::filesystem::path& file) {
  const auto info = look_at(system, file);
  return info && S_ISREG(info->st_mode);
}

void take_rights_of(System& system, const std::filesystem::path& old,
                    const std::filesystem::path& file, int fd) {
  const auto wanted = look_at(system, old);
  if (!wanted) return;
  struct stat present {};
  if (system.fstat(fd, &present) != 0) throw_system_error(file, "be examined", errno);
  mode_t mode = wanted->st_mode & 0777;
  constexpr auto same_owner = static_cast<uid_t>(-1);
  const bool differs = wanted->st_uid != present.st_uid || wanted->st_gid != present.st_gid;
  // Only root gives files away, and everyone else only to groups of his own.
  if (differs && system.fchown(fd, wanted->st_uid, wanted->st_gid) != 0 &&
      system.fchown(fd, same_owner, wanted->st_gid) != 0) {
    mode &= ~mode_t{S_IRWXG};
  }
  if ((present.st_mode & 0777) != mode && system.fchmod(fd, mode) != 0)
    throw_system_error(file, "be given its rights", errno);
}

void sync_file(System& system, const std::filesystem::path& file) {
  PosixFile(system, file, O_RDWR).sync_all();
}

void forget_cached(System& system, const std::filesystem::path& file) {
  PosixFile opened(system, file, O_RDWR);
  opened.sync_all();  // what is not written yet would be kept
  system.drop_cache(opened.fd());
}

void sync_directory_of(System& system, const std::filesystem::path& file) {
  const auto directory = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const int opened = system.open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (opened < 0) throw_system_error(directory, "be opened", errno);
  const int error = system.fsync(opened) == 0 ? 0 : errno;
  system.close(opened);
  // Some network file systems know no fsync of a directory; they make renames durable themselves.
  if (error != 0 && error != EINVAL && error != ENOTSUP && error != EBADF) {
    throw_system_error(directory, "be made durable", error);
  }
}

bool remove_file(System& system, const std::filesystem::path& file) {
  if (system.unlink(file.c_str()) == 0) return true;
  if (errno != ENOENT) throw_system_error(file, "be removed", errno);
  return false;
}

void rename_durably(System& system, const std::filesystem::path& from,
                    const std::filesystem::path& to) {
  rename_file(system, from, to);
  sync_directory_of(system, to);
}

void remove_durably(System& system, const std::filesystem::path& file) {
  if (remove_file(system, file)) sync_directory_of(system, file);
}

void replace_text(System& system, const std::filesystem::path& file, std::string_view text) {
  const auto temporary = temporary_path(file);
  PosixFile::make(system, temporary).append(std::as_bytes(std::span(text)));
  rename_file(system, temporary, file);
}

std::string read_whole(System& system, const std::filesystem::path& file) {
  const PosixFile in(system, file, O_RDONLY);
  std::string text(in.size(), '\0');
  if (!in.read_at(0, std::as_writable_bytes(std::span(text)))) {
    throw_system_error(file, "be read", EIO);
  }
  return text;
}

}  // namespace wallheat
