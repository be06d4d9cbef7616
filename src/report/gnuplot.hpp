#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wallheat/grid.hpp"

namespace wallheat {

/// What a plot's file is, by its ending.
enum class PlotFormat { png, svg, pdf };

/// Throws UsageError, which names `option`, unless the file ends in .png, .svg or .pdf.
[[nodiscard]] PlotFormat plot_format(const std::string& option, const std::filesystem::path& file);
/// Dots an inch at which a picture's lengths in pixels are meant.
inline constexpr int usual_dpi = 96;
/// How such a file begins.
[[nodiscard]] std::string_view beginning_of(PlotFormat format);

/// A script for gnuplot, with its data in it.
class Plot {
 public:
  /// Adds a block of data, a line a row. Returns its name for the script, as $data1.
  std::string add_data(const std::vector<std::vector<double>>& rows);
  /// Draws an image of float32 in binary, as gnuplot takes ten times as long to read text. Its
  /// first row is drawn at y = 0; a value is `cell` wide and high. NaN stays empty.
  void add_image(const Grid<double>& values, double cell);
  /// Adds a line of the script; `add` of text that is not the program's own goes through quoted().
  void add(std::string_view line);
  template <class... Values>
  requires(sizeof...(Values) > 0) void add(fmt::format_string<Values...> line, Values&&... values) {
    add(std::string_view(fmt::format(line, std::forward<Values>(values)...)));
  }

  /// Steps of an axis from 0 to a count, as `set ytics` takes them: whole numbers.
  [[nodiscard]] static std::string count_ticks(double most);

  /// Text in quotes, as gnuplot reads it, whatever it holds.
  [[nodiscard]] static std::string quoted(std::string_view text);

  /// Labels of an axis and where they stand, as `set xtics` takes them.
  [[nodiscard]] static std::string ticks(const std::vector<std::pair<std::string, double>>& labels);

  /// The picture, of so many pixels (points of 1/72 inch in a PDF are 3/4 of that). A PNG of more
  /// dots an inch has more pixels, text and lines included. Throws RunError where gnuplot is not
  /// installed or fails.
  [[nodiscard]] std::string draw(PlotFormat format, int width, int height,
                                 int dpi = usual_dpi) const;

 private:
  std::string script_;
  int blocks_ = 0;
};

}  // namespace wallheat
