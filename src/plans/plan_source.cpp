#include "plans/plan_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/fnv1a.hpp"
#include "core/input_file.hpp"
#include "core/interruption.hpp"
#include "core/text.hpp"
#include "plans/zip_writer.hpp"

namespace wallheat {
namespace {

/// Returns the text of a file next to the plans.
std::string text_of_file(const std::filesystem::path& file) {
  try {
    const NamedBytes text = read_input_file(file);
    return {reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()};
  } catch (const InputError& error) {
    throw RunError(error.what());
  }
}

bool is_zip(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  char start[2] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == zip_magic;
}

}  // namespace

void require_available(const std::filesystem::path& source) {
  std::error_code error;
  if (std::filesystem::is_directory(source, error)) {
    const std::filesystem::directory_iterator listing(source, error);
    if (!error && listing == std::filesystem::directory_iterator())
      throw SourceUnavailable("the input " + source.string() +
                              " is no longer readable: it is empty, as an unmounted file system "
                              "would be");
    // Listing a directory requires another permission than opening its files.
    if (!error && ::faccessat(AT_FDCWD, source.c_str(), X_OK, AT_EACCESS) != 0)
      error.assign(errno, std::generic_category());
  } else {
    const FileDescriptor file(retry_if_interrupted(
        [&] { return ::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
    char byte = 0;
    if (file.get() < 0 ||
        retry_if_interrupted([&] { return ::pread(file.get(), &byte, 1, 0); }) < 0)
      error.assign(errno, std::generic_category());
  }
  if (error)
    throw SourceUnavailable("the input " + source.string() +
                            " is no longer readable: " + error.message());
}

std::uint64_t source_identity(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw RunError(path.string() +
                   " cannot be examined: " + std::generic_category().message(errno));
  std::vector<std::uint64_t> numbers{status.st_ino};
  for (const timespec& time : {status.st_mtim, status.st_ctim})
    for (const auto number : {time.tv_sec, time.tv_nsec})
      numbers.push_back(static_cast<std::uint64_t>(number));
  return combine_stamps(numbers);
}

std::uint64_t combine_stamps(std::span<const std::uint64_t> numbers) {
  return fnv1a(std::as_bytes(numbers));
}

SharedPlanSource open_plan_source(const std::filesystem::path& path, ListingMode listing) {
  if (std::filesystem::is_directory(path)) return directory_source(path);
  if (!std::filesystem::exists(path))
    throw RunError("--data: directory or zip archive not found: " + path.string());
  if (!is_zip(path))
    throw RunError(path.string() + " is neither a directory nor a zip archive of floor plans");
  return zip_source(path, listing);
}

std::optional<std::string> read_sidecar_text(const std::filesystem::path& path,
                                             const std::string& name) {
  if (std::filesystem::is_directory(path)) {
    const std::filesystem::path file = path / name;
    return std::filesystem::exists(file) ? std::optional(text_of_file(file)) : std::nullopt;
  }
  return is_zip(path) ? read_archive_sidecar_text(path, name) : std::nullopt;
}

std::string sidecar_text_name(const std::filesystem::path& path, const std::string& name) {
  return std::filesystem::is_directory(path) ? (path / name).string() : path.string() + ": " + name;
}

std::string drawing_record_name(const std::string& id) {
  (void)plan_file_name(id, PlanFile::domain);  // throws if the ID is invalid
  return id + std::string(drawing_record_suffix);
}

std::optional<double> read_spacing(const std::filesystem::path& path) {
  auto text = read_sidecar_text(path, spacing_name);
  if (!text) return std::nullopt;
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  const auto spacing = parse_number<double>(*text);
  if (!spacing || !std::isfinite(*spacing) || *spacing <= 0)
    throw RunError(sidecar_text_name(path, spacing_name) +
                   " must contain one number above 0, the grid spacing");
  return spacing;
}

}  // namespace wallheat
