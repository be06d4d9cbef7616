#include "plans/plan_source.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/file_descriptor.hpp"
#include "core/input_file.hpp"
#include "core/number_of.hpp"
#include "plans/zip_source.hpp"
#include "plans/zip_writer.hpp"

namespace wallheat {
namespace {

/// True if the beginning of what is open can be read; errno tells why not.
bool is_readable(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return false;
  if (!S_ISDIR(info.st_mode)) {
    char byte = 0;
    return ::pread(file, &byte, 1, 0) >= 0;
  }
  const int copy = ::dup(file);
  DIR* const listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) ::close(copy);
    return false;
  }
  errno = 0;
  const bool is_there = ::readdir(listing) != nullptr || errno == 0;
  const int error = errno;
  ::closedir(listing);
  errno = error;
  // To list a directory takes another right than to open its files.
  return is_there && ::faccessat(file, ".", X_OK, AT_EACCESS) == 0;
}

/// Of a file that is no plan's.
std::string text_of_file(const std::filesystem::path& file) {
  try {
    const NamedBytes text = read_input(file);
    return {reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()};
  } catch (const InputError& error) {
    throw RunError(error.what());
  }
}

bool is_zip(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  char beginning[2] = {};
  std::ifstream(path, std::ios::binary).read(beginning, sizeof beginning);
  return std::string_view(beginning, sizeof beginning) == zip_beginning;
}

}  // namespace

void expect_available(const std::filesystem::path& source) {
  const FileDescriptor file(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
  const bool readable = file.get() >= 0 && is_readable(file.get());
  const int error = errno;
  if (readable) return;
  throw SourceUnavailable("the input " + source.string() +
                          " cannot be read any more: " + std::strerror(error));
}

/// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/).
std::uint64_t stamp_of(std::span<const std::uint64_t> numbers) {
  std::uint64_t stamp = 0xcbf29ce484222325;
  for (const std::byte byte : std::as_bytes(numbers))
    stamp = (stamp ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return stamp;
}

SharedPlanSource open_plan_source(const std::filesystem::path& path, Listing listing) {
  if (std::filesystem::is_directory(path)) return directory_source(path);
  if (!std::filesystem::exists(path))
    throw RunError("--data: there is no directory or zip archive " + path.string());
  if (!is_zip(path))
    throw RunError(path.string() +
                   " is neither a directory of floor plans nor a zip archive of one");
  return zip_source(path, listing);
}

std::optional<double> spacing_of_plans(const std::filesystem::path& path) {
  std::string file = (path / spacing_name).string();
  std::optional<std::string> text;
  if (std::filesystem::is_directory(path)) {
    if (!std::filesystem::exists(file)) return std::nullopt;
    text = text_of_file(file);
  } else if (is_zip(path)) {
    file = path.string() + ": " + spacing_name;
    text = text_beside_plans(path, spacing_name);
  }
  if (!text) return std::nullopt;
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  const auto spacing = number_of<double>(*text);
  if (!spacing || !std::isfinite(*spacing) || *spacing <= 0)
    throw RunError(file + " must hold one number above 0, the distance of neighbouring cells");
  return spacing;
}

}  // namespace wallheat
