#include "core/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/interruption.hpp"
#include "core/system_limits.hpp"

namespace wallheat {

bool FileDescriptor::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto got = retry_if_interrupted(
        [&] { return ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (got == 0) errno = 0;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

bool FileDescriptor::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto written = retry_if_interrupted(
        [&] { return ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

void throw_input_error(const std::string& file, const std::string& problem, int error) {
  if (error == ENOENT) throw InputError(file + ": no such file");
  const std::string message = file + ": " + problem + ": " + system_error_text(error);
  if (error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG) throw InputError(message);
  throw InputSystemError(message);
}

InputFile::InputFile(const std::filesystem::path& path)
    : name_(path.string()), file_(retry_if_interrupted([&] {
        return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
      })) {
  struct stat info {};
  if (file_.get() < 0 || ::fstat(file_.get(), &info) != 0)
    throw_input_error(name_, "cannot be opened", errno);
  if (!S_ISREG(info.st_mode)) throw InputError(name_ + ": not a regular file");
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (file_.read_at(offset, bytes)) return;
  if (errno != 0) throw_input_error(name_, "cannot be read", errno);
  throw InputError(name_ + ": cannot be read to its end");
}

std::vector<std::byte> InputFile::read_range(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset)
    throw InputError(name_ + ": cannot be read to its end");
  std::vector<std::byte> bytes(count);
  read_at(offset, bytes);
  return bytes;
}

NamedBytes read_input_file(const std::filesystem::path& path) {
  const InputFile file(path);
  return {file.name(), file.read_range(0, file.size())};
}

}  // namespace wallheat
