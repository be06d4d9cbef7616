#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "report/gnuplot.hpp"
#include "report/row_table.hpp"
#include "wallheat/result_reader.hpp"

// What the commands share that look at result files and draw.

namespace wallheat {

/// Declares FILE, by name and as the first argument; the command cannot do without it.
void declare_result_file(Options& options, std::string& file);

/// Declares --where.
void declare_where(Options& options, std::string& where);

/// Opens it and tells of its damage on stderr.
[[nodiscard]] ResultReader open_result_file(const std::string& file);

/// Name and version of the solver as the file has them; "?" for what it does not say.
[[nodiscard]] std::string recorded_solver_text(const ResultReader& reader);

/// Throws the RunError where --where fits none.
[[noreturn]] void refuse_empty(const std::string& file, const std::string& where,
                               std::size_t plans);

/// The numbers of the rows that are chosen. Throws RunError if --where fits none.
[[nodiscard]] std::vector<std::size_t> selected_rows(const std::string& file,
                                                     const ResultReader& reader,
                                                     const RowChoice& choice);

/// The picture that an option asks for, if it does.
class PictureFile {
 public:
  /// Declares the option, --overwrite, and how it is drawn: --title, --size and --dpi.
  void declare(Options& options, const char* option, const char* help);
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool wanted() const { return !path_.empty(); }
  [[nodiscard]] bool overwrite() const { return overwrite_; }
  /// Before anything is computed: throws UsageError for another ending, or a size that cannot be,
  /// RunError where a file is in the way.
  void check() const;
  /// What the user wants instead of what a picture would have.
  [[nodiscard]] std::optional<std::string> title() const;
  [[nodiscard]] std::optional<std::pair<int, int>> size() const;
  [[nodiscard]] int dpi() const { return dpi_; }
  /// Writes what draw() returns, of so many pixels; nothing if no picture is wanted.
  void write(const std::function<Plot()>& draw, int width = 960, int height = 600) const;
  void write_bytes(const std::function<std::string(PlotFormat)>& draw) const;

 private:
  std::string option_;
  std::vector<std::string> titles_;  // the last one given stands
  std::string size_;
  int dpi_ = usual_dpi;
  std::filesystem::path path_;
  bool overwrite_ = false;
};

}  // namespace wallheat
