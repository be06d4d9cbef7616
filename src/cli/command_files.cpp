#include "cli/command_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <optional>
#include <tuple>

#include "io/file_names.hpp"
#include "plans/plan_source.hpp"
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

/// Whether a file is one of a directory of plans, by its place or as another name of one.
bool is_file_of(const fs::path& file, const fs::path& directory) {
  const fs::path path = result_path(file);
  std::error_code unknown;
  if (is_name_of_plans(path.filename()) && fs::equivalent(path.parent_path(), directory, unknown))
    return true;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  for (fs::directory_iterator entry(directory, unknown), end; !unknown && entry != end;
       entry.increment(unknown)) {
    std::error_code absent;
    const bool may_have_two_names = info.st_nlink > 1 || entry->is_symlink(absent);
    if (may_have_two_names && is_name_of_plans(entry->path().filename()) &&
        fs::equivalent(entry->path(), path, absent))
      return true;
  }
  return false;
}

/// Throws RunError if a file is there that is no text. Those of plans, results and pictures have
/// zeros near their beginning.
void require_text(const fs::path& file) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return;
  std::ifstream in(file, std::ios::binary);
  std::string beginning(512, ' ');
  in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  if (beginning.find('\0') == std::string::npos) return;
  throw RunError(file.string() + " is no text, so it is not replaced by text; name another file");
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

void CommandFiles::makes_text(const std::string& option, const fs::path& file, bool overwrite) {
  makes(option, file, overwrite, "");
  if (!file.empty()) made_.back().is_text = true;
}

void CommandFiles::reads_store(const std::string& option, const fs::path& file) {
  add_store(option, file, false);
}

void CommandFiles::writes_store(const std::string& option, const fs::path& file) {
  add_store(option, file, true);
}

void CommandFiles::reads_plans(const std::string& option, const fs::path& plans) {
  std::error_code unknown;
  if (!fs::is_directory(plans, unknown)) return reads(option, plans);
  directories_.push_back({option, plans, false});
}

void CommandFiles::add_store(const std::string& option, const fs::path& file, bool written) {
  if (file.empty()) return;
  const fs::path path = result_path(file);
  stores_.push_back({option, path, written});
  for (const fs::path& each : {path, status_path(path)}) {
    files_.push_back({option, each, written});
    files_.push_back({option, temporary_path(each), written});
  }
  files_.push_back({option, lock_path(path), written});
  for (const std::size_t session : journal_numbers(path))
    files_.push_back({option, journal_path(path, session), written});
}

void CommandFiles::check_plans(const Named& file) const {
  for (const auto& [option, directory, written] : directories_)
    if (is_file_of(file.file, directory))
      throw UsageError(fmt::format("{} is one of the files of {}; name another file by {}",
                                   file.file.string(), option, file.option));
  if (is_among_plans(result_path(file.file)))
    throw UsageError(fmt::format("{} belongs to the floor plans beside it; name another file by {}",
                                 file.file.string(), file.option));
}

/// A run names its journals by numbers that are not known here.
void CommandFiles::check_journals(const Named& file) const {
  const fs::path path = result_path(file.file);
  for (const auto& [option, store, written] : stores_) {
    std::error_code unknown;
    if (option != file.option && fs::equivalent(path.parent_path(), store.parent_path(), unknown) &&
        path.filename().string().starts_with(store.filename().string() + ".wal"))
      throw UsageError(fmt::format("{} is the name of a journal of {}; name another file by {}",
                                   file.file.string(), option, file.option));
  }
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
  for (const Named& file : files_)
    if (file.written && identity_of(file.file)) {
      check_plans(file);
      check_journals(file);
    }
  for (const Made& made : made_) {
    require_replaceable(made.file, made.overwrite, made.beginning);
    if (made.is_text) require_text(made.file);
  }
}

}  // namespace wallheat
