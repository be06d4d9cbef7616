#include "cli/command_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <tuple>

#include "io/file_names.hpp"
#include "store/result_path.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

/// Device and inode of a file; those of its directory and its name where it is not there yet.
using Identity = std::tuple<dev_t, ino_t, std::string>;

/// Nothing for a device or pipe, which may well serve for two.
std::optional<Identity> identity_of(const fs::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) return std::nullopt;
    return Identity{info.st_dev, info.st_ino, ""};
  }
  const fs::path path = result_path(file);
  if (::stat(path.parent_path().c_str(), &info) == 0)
    return Identity{info.st_dev, info.st_ino, path.filename().string()};
  return Identity{0, 0, path.string()};
}

}  // namespace

void CommandFiles::reads(const std::string& option, const fs::path& file) {
  if (!file.empty()) files_.push_back({option, file, false});
}

void CommandFiles::writes(const std::string& option, const fs::path& file) {
  if (!file.empty()) files_.push_back({option, file, true});
}

void CommandFiles::makes(const std::string& option, const fs::path& file, bool overwrite,
                         std::string_view beginning) {
  if (file.empty()) return;
  writes(option, file);
  made_.push_back({file, overwrite, std::string(beginning)});
}

void CommandFiles::reads_store(const std::string& option, const fs::path& file) {
  add_store(option, file, false);
}

void CommandFiles::writes_store(const std::string& option, const fs::path& file) {
  add_store(option, file, true);
}

void CommandFiles::reads_plans(const std::string& option, const fs::path& plans) {
  std::error_code unknown;
  reads(option, fs::is_directory(plans, unknown) ? plans / "building_ids.txt" : plans);
}

void CommandFiles::add_store(const std::string& option, const fs::path& file, bool written) {
  if (file.empty()) return;
  const fs::path path = result_path(file);
  for (const fs::path& each : {path, status_path(path)}) {
    files_.push_back({option, each, written});
    files_.push_back({option, temporary_path(each), written});
  }
  files_.push_back({option, lock_path(path), written});
  for (const std::size_t session : journal_numbers(path))
    files_.push_back({option, journal_path(path, session), written});
}

void CommandFiles::check() const {
  std::map<Identity, const Named*> known;
  for (const Named& file : files_) {
    const auto identity = identity_of(file.file);
    if (!identity) continue;
    const auto [place, is_new] = known.emplace(*identity, &file);
    if (is_new) continue;
    const Named& other = *place->second;
    if (!file.written && !other.written) continue;
    if (file.option == other.option && file.file != other.file)  // a store has files of its own
      throw UsageError(fmt::format("{}: {} and {} are one file by a link; remove the link",
                                   file.option, other.file.string(), file.file.string()));
    throw UsageError(fmt::format("{} and {} are one file, {}; name another file by {}",
                                 other.option, file.option, file.file.string(),
                                 file.written ? file.option : other.option));
  }
  for (const Made& made : made_) require_replaceable(made.file, made.overwrite, made.beginning);
}

}  // namespace wallheat
