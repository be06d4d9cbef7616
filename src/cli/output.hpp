#pragma once

#include <filesystem>
#include <string>

#include "cli/options.hpp"
#include "report/gnuplot.hpp"

namespace wallheat {

/// What --out of a command that returns a report names.
enum class Out {
  printed,  ///< what would be printed
  drawn,    ///< the picture of the report, which is all that the command makes
  made      ///< something of the command's own
};

/// Where a report goes and in which form: options that all commands have alike which return one.
class Output {
 public:
  /// Declares --json; --format, --out and --page if --out is for what is printed; and if `figure`
  /// is not null, which says what is drawn, --plot (or --out), --size and --dpi; and --title, of
  /// page and picture. This must live as long as the options.
  Output(Options& options, Out out, const char* figure);
  /// Under --title, if it was given. Throws RunError, and UsageError if the report has nothing of
  /// the wanted kind.
  void put(Report& report) const;

 private:
  enum class Form { text, json, csv };
  void declare_picture(Options& options, const std::string& option, const std::string& figure);
  void write(const Report& report, std::ostream& out, bool is_stdout) const;

  bool json_ = false;
  Form form_ = Form::text;
  std::filesystem::path out_;
  std::filesystem::path page_;
  std::filesystem::path picture_;
  PictureStyle style_;
};

}  // namespace wallheat
