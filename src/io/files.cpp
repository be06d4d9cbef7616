#include "io/files.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <system_error>
#include <utility>

#include "core/interruption.hpp"
#include "core/system_limits.hpp"
#include "core/text.hpp"

namespace wallheat {
namespace {

constexpr std::string_view temporary_ending = ".new-";
constexpr int random_digits = 16;

[[noreturn]] void refuse_kind(const std::filesystem::path& file, mode_t mode) {
  const char* kind = S_ISLNK(mode)    ? "a link"
                     : S_ISFIFO(mode) ? "a named pipe"
                     : S_ISDIR(mode)  ? "a directory"
                                      : "a device or socket";
  throw SystemError(file.string() + " is " + kind + ", not a regular file; choose another name",
                    EINVAL);
}

}  // namespace

std::string file_limit_note(const std::filesystem::path& file, int error) {
  struct statvfs found {};
  const auto directory = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (error != ENOSPC || ::statvfs(directory.c_str(), &found) != 0) return limit_note(error);
  if (found.f_files == 0 || found.f_favail > 0 || found.f_bavail == 0) return "";
  return fmt::format(" (limit of the number of files: {} inodes, see 'df -i')", found.f_files);
}

void throw_system_error(const std::filesystem::path& file, const std::string& what, int error) {
  throw SystemError(file.string() + " cannot " + what + ": " + std::strerror(error) +
                        file_limit_note(file, error),
                    error);
}

File::File(std::filesystem::path path, int flags)
    : path_(std::move(path)),
      // O_NONBLOCK avoids waiting for the other end of a pipe. It has no effect on regular files.
      descriptor_(retry_if_interrupted([&] {
        return ::open(path_.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
      })) {
  const int error = errno;
  struct stat found {};
  if (fd() < 0) {
    if (::lstat(path_.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && error != EEXIST)
      refuse_kind(path_, found.st_mode);
    throw_system_error(path_, (flags & O_CREAT) != 0 ? "be created" : "be opened", error);
  }
  if (!S_ISREG(info().st_mode)) refuse_kind(path_, info().st_mode);
}

File File::create(const std::filesystem::path& path) {
  return {path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND};
}

struct stat File::info() const {
  struct stat found {};
  if (::fstat(fd(), &found) != 0) throw_system_error(path_, "be examined", errno);
  return found;
}

bool File::path_still_refers_here() const {
  struct stat named {};
  const auto held = info();
  return held.st_nlink > 0 && ::lstat(path_.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

void File::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written =
        retry_if_interrupted([&] { return ::write(fd(), bytes.data(), bytes.size()); });
    if (written < 0) throw_system_error(path_, "be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  if (!descriptor_.write_at(offset, bytes)) throw_system_error(path_, "be written", errno);
}

void File::sync_data() const {
  if (retry_if_interrupted([&] { return ::fdatasync(fd()); }) != 0)
    throw_system_error(path_, "be synced to disk", errno);
}

void File::sync() const {
  if (retry_if_interrupted([&] { return ::fsync(fd()); }) != 0)
    throw_system_error(path_, "be synced to disk", errno);
}

void File::truncate() const {
  if (retry_if_interrupted([&] { return ::ftruncate(fd(), 0); }) != 0)
    throw_system_error(path_, "be written", errno);
}

std::optional<File> open_unless_errno(int expected, const std::filesystem::path& path, int flags) {
  try {
    return File(path, flags);
  } catch (const SystemError& error) {
    if (error.code != expected) throw;
    return std::nullopt;
  }
}

std::optional<struct stat> stat_if_exists(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0) return found;
  if (errno != ENOENT && errno != ENOTDIR) throw_system_error(file, "be examined", errno);
  return std::nullopt;
}

std::vector<std::string> names_starting_with(const std::filesystem::path& path) {
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  const std::string start = path.filename();
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  if (!listing && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) return names;
  while (listing) {
    errno = 0;  // readdir() returns null at the end, too
    const dirent* const entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    if (std::string_view(entry->d_name).starts_with(start)) names.emplace_back(entry->d_name);
  }
  if (errno != 0) throw_system_error(directory, "be listed", errno);
  return names;
}

void copy_owner_and_mode(const std::filesystem::path& old, const File& file) {
  if (const auto wanted = stat_if_exists(old)) copy_owner_and_mode(*wanted, file);
}

void copy_owner_and_mode(const struct stat& wanted, const File& file) {
  const auto present = file.info();
  mode_t mode = wanted.st_mode & 0777;
  constexpr auto same_owner = static_cast<uid_t>(-1);
  const bool differs = wanted.st_uid != present.st_uid || wanted.st_gid != present.st_gid;
  // Only root may change the owner. Other users may only change the group, to one of which they are
  // members.
  if (differs && ::fchown(file.fd(), wanted.st_uid, wanted.st_gid) != 0 &&
      ::fchown(file.fd(), same_owner, wanted.st_gid) != 0) {
    mode &= ~mode_t{S_IRWXG};
  }
  if ((present.st_mode & 0777) != mode && ::fchmod(file.fd(), mode) != 0)
    throw_system_error(file.path(), "be given its permissions", errno);
}

void sync_directory_of(const std::filesystem::path& file) {
  const auto directory = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const FileDescriptor opened(retry_if_interrupted(
      [&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (opened.get() < 0) throw_system_error(directory, "be opened", errno);
  // Some network file systems do not support fsync for directories; their renames are durable
  // without it.
  if (retry_if_interrupted([&] { return ::fsync(opened.get()); }) != 0 && errno != EINVAL &&
      errno != ENOTSUP && errno != EBADF)
    throw_system_error(directory, "be synced to disk", errno);
}

bool remove_file(const std::filesystem::path& file) {
  if (::unlink(file.c_str()) == 0) return true;
  if (errno != ENOENT) throw_system_error(file, "be removed", errno);
  return false;
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw_system_error(from, "be renamed to " + to.string(), errno);
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  rename_file(from, to);
  sync_directory_of(to);
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    throw SystemError("the kernel returns no random number: " + system_error_text(errno), errno);
  return number;
}

std::filesystem::path new_temporary_path(std::filesystem::path file) {
  return file += fmt::format("{}{:0{}x}", temporary_ending, random_number(), random_digits);
}

bool is_temporary_name(const std::string& name, const std::filesystem::path& file) {
  const std::string prefix = file.filename().string() + std::string(temporary_ending);
  return name.starts_with(prefix) && name.size() == prefix.size() + random_digits &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string::npos;
}

bool remove_temporary_files(const std::filesystem::path& file) {
  bool has_removed = false;
  for (const std::string& name : names_starting_with(file)) {
    const std::filesystem::path path = file.parent_path() / name;
    std::error_code vanished;
    if (is_temporary_name(name, file) && std::filesystem::is_regular_file(path, vanished))
      has_removed = remove_file(path) || has_removed;
  }
  return has_removed;
}

void replace_file_atomically(const std::filesystem::path& file, std::string_view text,
                             const std::filesystem::path& model) {
  const auto temporary = new_temporary_path(file);
  File out = File::create(temporary);
  try {
    copy_owner_and_mode(model, out);
    out.append(std::as_bytes(std::span(text)));
    rename_file(temporary, file);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

std::string read_file(const std::filesystem::path& file) {
  const File in(file, O_RDONLY);
  std::string text(in.size(), '\0');
  if (!in.read_at(0, std::as_writable_bytes(std::span(text))))
    throw_system_error(file, "be read", EIO);
  return text;
}

std::string read_text_file(const std::string& file) {
  std::ifstream named;
  if (file != "-") {
    named.open(file, std::ios::binary);
    if (!named || std::filesystem::is_directory(file))
      throw RunError(fmt::format("{} cannot be read: {}", escape_control_chars(file),
                                 named ? "it is a directory" : system_error_text(errno)));
  }
  std::istream& in = file == "-" ? std::cin : named;
  std::string text;
  std::string part(std::size_t{1} << 20, '\0');
  while (in) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    const std::string_view read(part.data(), static_cast<std::size_t>(in.gcount()));
    // Without this check, a device of zeros would be read forever.
    if (read.find('\0') != std::string_view::npos)
      throw RunError(
          fmt::format("{} is not a text file: it contains zero bytes", escape_control_chars(file)));
    text += read;
  }
  if (in.bad())
    throw RunError(fmt::format("{} cannot be read to its end", escape_control_chars(file)));
  return text;
}

}  // namespace wallheat
