#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// What a file is to a command. The last five are written.
enum class FileRole {
  none,
  input,             ///< any file
  plans,             ///< a zip archive of floor plans, or a directory of them with all its files
  results_in_use,    ///< a result file, with what lies beside it while it is written
  output,            ///< only by --overwrite, and only a file that begins in the same way
  replaced_picture,  ///< the same, with the magic bytes that go with the ending of its name
  replaced_text,     ///< the same, but text may begin in any way; it replaces only text
  appended,          ///< gets more lines
  new_results  ///< a result file; the command itself refuses one that is there without --overwrite
};

/// The files that one command names. Before any is opened, it is checked that the command writes
/// none of them over another, nor over floor plans, nor over anything that it did not make. As a
/// file may have many names, files are told apart by device and inode; one that is not there yet,
/// by its directory's and its name.
class FileConflictCheck {
 public:
  /// `option` is for sentences. An empty path, and none, is no file.
  void add(const std::string& option, const std::filesystem::path& file, FileRole role,
           std::string_view magic = {});
  /// Those that another command would name if this one started it.
  void add(const FileConflictCheck& others);
  /// Throws UsageError if a file that is written is also another one, and RunError if one that is
  /// to be made may not be.
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
