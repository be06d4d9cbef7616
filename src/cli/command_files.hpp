#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// The files that one command names, to see before anything is opened that it writes none of them
/// over another, nor over anything else that it did not make; nor over floor plans, whoever reads
/// them. Files are told apart by what they are (device and inode, or for one that is not there yet
/// its directory's and its name), as one may have many names. `option` is for sentences; an empty
/// path is no file.
class CommandFiles {
 public:
  void reads(const std::string& option, const std::filesystem::path& file);
  /// A file that the command makes: see require_replaceable.
  void makes(const std::string& option, const std::filesystem::path& file, bool overwrite,
             std::string_view beginning);
  /// The same of text, which begins in any way: it replaces none that holds other bytes.
  void makes_text(const std::string& option, const std::filesystem::path& file, bool overwrite);
  /// A file to which the command adds, or of which it knows by itself whether it may be replaced.
  void writes(const std::string& option, const std::filesystem::path& file);
  /// A result file, with what lies beside it while it is written.
  void reads_store(const std::string& option, const std::filesystem::path& file);
  void writes_store(const std::string& option, const std::filesystem::path& file);
  /// A zip archive of plans, or a directory of them with all its files.
  void reads_plans(const std::string& option, const std::filesystem::path& plans);

  /// Throws UsageError if a file that is written is also another one, and RunError if one that is
  /// to be made may not be.
  void check() const;

 private:
  struct Named {
    std::string option;
    std::filesystem::path file;
    bool written;
  };
  struct Made {
    std::filesystem::path file;
    bool overwrite;
    std::string beginning;
    bool is_text = false;
  };
  void add_store(const std::string& option, const std::filesystem::path& file, bool written);

  void check_plans(const Named& file) const;
  void check_journals(const Named& file) const;

  std::vector<Named> files_;
  std::vector<Named> directories_;  // of plans
  std::vector<Named> stores_;
  std::vector<Made> made_;
};

}  // namespace wallheat
