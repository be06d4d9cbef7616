#include "cli/command_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <optional>
#include <tuple>

#include "core/text.hpp"
#include "plans/plan_source.hpp"
#include "report/gnuplot.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

/// Device and inode of a file; for a file that does not exist, those of its directory, and its
/// name.
using Identity = std::tuple<dev_t, ino_t, std::string>;

/// Returns nullopt for a device or a pipe, which may be used twice.
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

/// Returns true if a file belongs to a directory of plans, by its directory or as another hard link
/// of a file in it.
bool is_file_of(const fs::path& file, const fs::path& directory) {
  const fs::path path = result_path(file);
  std::error_code unknown;
  if (is_plan_file_name(path.filename()) && fs::equivalent(path.parent_path(), directory, unknown))
    return true;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  for (fs::directory_iterator entry(directory, unknown), end; !unknown && entry != end;
       entry.increment(unknown)) {
    std::error_code absent;
    const bool may_have_two_names = info.st_nlink > 1 || entry->is_symlink(absent);
    if (may_have_two_names && is_plan_file_name(entry->path().filename()) &&
        fs::equivalent(entry->path(), path, absent))
      return true;
  }
  return false;
}

/// Throws RunError if the file exists and is not text. Files of plans, results and pictures contain
/// zero bytes near their start.
void require_text(const fs::path& file) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return;
  std::ifstream in(file, std::ios::binary);
  std::string start(512, ' ');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start.find('\0') == std::string::npos) return;
  throw RunError(file.string() +
                 " is not a text file and will not be overwritten with text; choose another file");
}

/// Throws UsageError if a page would be written to a file whose suffix is that of another format. A
/// file without a suffix, such as a pipe, is accepted.
void require_page_suffix(const std::string& option, const fs::path& file) {
  const std::string suffix = to_lower(file.extension().string());
  if (!suffix.empty() && suffix != ".html" && suffix != ".htm")
    throw UsageError(
        fmt::format("{} writes HTML; use a file name that ends in .html or .htm, not {}", option,
                    file.string()));
}

}  // namespace

void FileConflictCheck::add(const std::string& option, const fs::path& file, FileRole role,
                            std::string_view magic) {
  if (!file.empty() && role != FileRole::none) named_.push_back({option, file, role, magic});
}

void FileConflictCheck::add(const FileConflictCheck& others) {
  named_.insert(named_.end(), others.named_.begin(), others.named_.end());
}

std::vector<FileConflictCheck::Named> FileConflictCheck::files_of(const Named& named) {
  std::error_code unknown;
  if (named.role == FileRole::plans && fs::is_directory(named.file, unknown)) return {};
  if (!named.is_store()) return {named};
  const fs::path path = result_path(named.file);
  std::vector<fs::path> files{path, status_path(path), lock_path(path)};
  for (const std::size_t session : journal_numbers(path))
    files.push_back(journal_path(path, session));
  std::vector<Named> all(files.size(), named);
  for (std::size_t i = 0; i < files.size(); ++i) all[i].file = files[i];
  return all;
}

void FileConflictCheck::check_plans(const Named& file) const {
  for (const Named& plans : named_)
    if (plans.role == FileRole::plans && is_file_of(file.file, plans.file))
      throw UsageError(fmt::format("{} is one of the files of {}; choose another file for {}",
                                   file.file.string(), plans.option, file.option));
  if (is_plan_input(result_path(file.file)))
    throw UsageError(
        fmt::format("{} belongs to the floor plans in its directory; choose another file for {}",
                    file.file.string(), file.option));
}

/// Throws UsageError if a file that is written could be a journal of a result file. The numbers of
/// the journals are not known yet.
void FileConflictCheck::check_journals(const Named& file) const {
  const fs::path path = result_path(file.file);
  for (const Named& store : named_) {
    if (!store.is_store() || store.option == file.option) continue;
    const fs::path of_store = result_path(store.file);
    std::error_code unknown;
    if (fs::equivalent(path.parent_path(), of_store.parent_path(), unknown) &&
        may_be_journal(path.filename().string(), of_store))
      throw UsageError(fmt::format("{} is the name of a journal of {}; choose another file for {}",
                                   file.file.string(), store.option, file.option));
  }
}

void FileConflictCheck::check(bool overwrite) const {
  std::vector<Named> all;
  for (const Named& named : named_)
    for (Named& file : files_of(named)) all.push_back(std::move(file));
  std::map<Identity, const Named*> known;
  for (const Named& file : all) {
    const auto identity = identity_of(file.file);
    if (!identity) continue;
    const auto [entry, is_new] = known.emplace(*identity, &file);
    const Named& other = *entry->second;
    if (is_new || (!file.is_written() && !other.is_written())) continue;
    // A result file comes with other files.
    if (file.option == other.option && file.file != other.file)
      throw UsageError(fmt::format("{}: {} and {} are links to the same file; remove the link",
                                   file.option, other.file.string(), file.file.string()));
    throw UsageError(fmt::format("{} and {} are the same file, {}; choose another file for {}",
                                 other.option, file.option, file.file.string(),
                                 file.is_written() ? file.option : other.option));
  }
  for (const Named& file : all)
    if (file.is_written() && identity_of(file.file)) {
      check_plans(file);
      check_journals(file);
    }
  for (const auto& [option, file, role, magic] : named_) {
    if (role == FileRole::new_results && overwrite) require_own_results(file);
    if (role == FileRole::output || role == FileRole::replaced_text)
      require_replaceable(file, overwrite, magic);
    if (role == FileRole::replaced_text) require_text(file);
    if (role == FileRole::replaced_picture)
      require_replaceable(file, overwrite, magic_of(plot_format(option.substr(2), file)));
    if (role == FileRole::page) {
      require_page_suffix(option, file);
      require_replaceable(file, overwrite, "<!doctype html>\n");
    }
  }
}

}  // namespace wallheat
