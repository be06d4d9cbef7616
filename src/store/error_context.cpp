#include "store/error_context.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>

#include "io/files.hpp"
#include "store/result_file.hpp"
#include "store/result_path.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
std::string hint_for_limit(const fs::path& file, int error, const std::string& space) {
  switch (error) {
    case EFBIG:
      return "raise the limit of the size of a file";
    case EDQUOT:
      return "free " + space + ", or remove some files";
    case ENOSPC:  // the note names the limit of the number of files, if that is reached
      return file_limit_note(file, error).empty() ? "free " + space : "remove some files";
    default:
      return {};
  }
}

std::string hint_for(const fs::path& file, int error, const ErrorHints& hints,
                     const std::string& fallback) {
  if (const auto limit = hint_for_limit(file, error); !limit.empty())
    return limit + " and " + hints.again;
  if (error == EACCES || error == EPERM || error == EROFS)
    return "check the write permissions, or choose another location";
  return fallback;
}

fs::path path_to_write(const fs::path& file) {
  auto path = result_path(file);
  const auto folder = stat_if_exists(path.parent_path());
  if (!folder || !S_ISDIR(folder->st_mode))
    throw RunError(path.string() + " cannot be written: directory not found: " +
                   path.parent_path().string() + "; create it first");
  const auto found = stat_if_exists(path);
  require_not_directory(path);
  if (found && !S_ISREG(found->st_mode))
    throw RunError(path.string() + " is not a regular file; choose another name");
  return path;
}

void require_wallheat_file(const fs::path& path) {
  const auto found = stat_if_exists(path);
  const bool has_content = found && found->st_size > 0;
  const FileMark mark = has_content ? read_mark(path) : FileMark{};
  if (has_content && !mark.is_result_file)
    throw RunError(
        path.string() +
        " is not a wallheat result file; --overwrite will not replace it: choose another "
        "name or remove it");
  for_each_journal(path, [&](const fs::path& name, JournalReader& journal) {
    if (!belongs_to(journal, mark.file_ids) && !contains_journal(mark.replaced, journal))
      throw RunError(
          name.string() + " is not a journal of " + path.string() +
          "; --overwrite will not remove it: move it next to the result file to which it "
          "belongs, or remove it if its results are not needed");
  });
}

void require_no_hard_links(const fs::path& path) {
  const auto found = stat_if_exists(path);
  if (!found || found->st_nlink <= 1) return;
  throw RunError(path.string() + " has " + std::to_string(found->st_nlink) +
                 " hard links, but its journals are next to one of them only; make a separate "
                 "copy: cp -p " +
                 path.string() + " " + path.string() + ".copy && mv " + path.string() + ".copy " +
                 path.string());
}

Attributes truncate_at_nul(Attributes values) {
  for (auto& [name, value] : values) value.resize(std::min(value.size(), value.find('\0')));
  return values;
}

}  // namespace wallheat::store

namespace wallheat {

void require_own_results(const std::filesystem::path& file) {
  store::with_error_context(file, {}, [&] { store::require_wallheat_file(result_path(file)); });
}

}  // namespace wallheat
