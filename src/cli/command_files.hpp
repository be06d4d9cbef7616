#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// Use of a file by a command. The last six values are for files that the command writes.
enum class FileRole {
  none,
  input,  ///< any file
  plans,  ///< a zip archive of floor plans, or a directory of floor plans with all its files
  results_in_use,  ///< a result file, with its status file, lock and journals
  output,  ///< replaced only with --overwrite, and only if the old file begins in the same way
  /// Like output, with the magic bytes of the picture format that the suffix of the name
  /// determines.
  replaced_picture,
  page,           ///< like output, with the first bytes of a page; a suffix must be .html or .htm
  replaced_text,  ///< like output, but text may begin in any way; it replaces only text
  appended,       ///< the command appends lines
  new_results  ///< a result file; the command itself rejects an existing file without --overwrite
};

/// Checks, before a command opens any file, that it does not overwrite one of its inputs, a floor
/// plan, or a file that wallheat did not create. Files are compared by device and inode, because a
/// file may have several names; a file that does not exist yet, by its directory's device and inode
/// and its name.
class FileConflictCheck {
 public:
  /// Adds a file. `option` is used in messages. Ignores an empty path and FileRole::none.
  void add(const std::string& option, const std::filesystem::path& file, FileRole role,
           std::string_view magic = {});
  /// Adds the files of another command that this one starts.
  void add(const FileConflictCheck& others);
  /// Throws UsageError if a file that is written is also used in another way, and RunError if a
  /// file must not be created or replaced.
  void check(bool overwrite) const;

 private:
  struct Named {
    std::string option;
    std::filesystem::path file;
    FileRole role;
    std::string_view magic;

    [[nodiscard]] bool is_written() const { return role >= FileRole::output; }
    [[nodiscard]] bool is_store() const {
      return role == FileRole::results_in_use || role == FileRole::new_results;
    }
  };
  [[nodiscard]] static std::vector<Named> files_of(const Named& named);
  void check_plans(const Named& file) const;
  void check_journals(const Named& file) const;

  std::vector<Named> named_;
};

}  // namespace wallheat
