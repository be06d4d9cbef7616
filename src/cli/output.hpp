#pragma once

#include <filesystem>
#include <string>

#include "cli/options.hpp"
#include "cli/picture_file.hpp"
#include "report/report.hpp"

namespace wallheat {

/// Where a report goes and in which form: options that all commands have alike which return one.
class Output {
 public:
  /// Declares --json; and --format, --out and --page unless the command's --out names something
  /// that it makes; and if `figure` is not null, which says what is drawn, --plot.
  Output(Options& options, bool has_out, const char* figure);
  /// With --title, if it was given. Throws RunError, and UsageError if the report has nothing of the wanted kind.
  void put(Report& report) const;

 private:
  void declare(Options& options, bool has_out, const char* figure);
  enum class Form { text, json, csv };
  [[nodiscard]] Form form() const;
  void write(const Report& report, std::ostream& out, bool is_stdout) const;

  bool json_ = false;
  Form form_ = Form::text;
  std::filesystem::path out_;
  std::filesystem::path page_;
  std::string title_;
  PictureFile picture_;
};

}  // namespace wallheat
