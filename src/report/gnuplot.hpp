#pragma once

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// File format of a plot, determined by its file name extension.
enum class PlotFormat { png, svg, pdf };

/// Returns the format of a file. Throws UsageError, with a message that names `option`, unless the
/// file name ends in .png, .svg or .pdf.
[[nodiscard]] PlotFormat plot_format(const std::string& option, const std::filesystem::path& file);
/// Resolution, in dots per inch, for which the lengths of a picture in pixels are defined.
inline constexpr int default_dpi = 96;
/// Returns the first bytes of a file of that format.
[[nodiscard]] std::string_view magic_of(PlotFormat format);

/// A colour of pictures, and its replacement on a dark background, as 0xrrggbb.
struct Colour {
  const char* name;
  unsigned light, dark;
};
/// All colours except those of fields. The series also differ in grey print and for colour-blind
/// readers. The steps go from low to high.
inline constexpr std::array<Colour, 15> colours{{{"text", 0x262a33, 0xdfe2e8},
                                                 {"faint", 0x686e7a, 0x9aa1ad},
                                                 {"line", 0xd0d4da, 0x3c424e},
                                                 {"around-fields", 0xe7e9ec, 0x2b2f38},
                                                 {"series-1", 0x4a1c76, 0xb795e0},
                                                 {"series-2", 0xe96042, 0xee7f66},
                                                 {"series-3", 0x2a8a8a, 0x4bb5b5},
                                                 {"series-4", 0x8a8f99, 0xa4a9b3},
                                                 {"series-5", 0xc9962b, 0xd9ab4a},
                                                 {"series-6", 0x272b34, 0xd8dbe1},
                                                 {"step-1", 0xd3c5e4, 0x3d3350},
                                                 {"step-2", 0xb398cf, 0x5f4a80},
                                                 {"step-3", 0x906bb6, 0x8465b0},
                                                 {"step-4", 0x6c4196, 0xa986d6},
                                                 {"step-5", 0x4b1d77, 0xd6c3f0}}};

/// A gnuplot script that contains its data, for a picture of width x height pixels (in a PDF, a
/// pixel is 3/4 of a point of 1/72 inch).
class Plot {
 public:
  Plot(int width, int height) : width_(width), height_(height) {}
  /// Adds a data block with one line per row. Returns its name in the script, such as $data1.
  std::string add_data(const std::vector<std::vector<double>>& rows);
  /// Draws an image of binary float32, because gnuplot takes ten times as long to read text. Its
  /// first row is drawn at y = 0. Each value is `cell` wide and high. NaN stays empty.
  void add_image(const Grid<double>& values, double cell);
  /// Adds a line to the script. Pass text that does not come from the program itself through
  /// quoted().
  void add(std::string_view line);
  template <class... Values>
  requires(sizeof...(Values) > 0) void add(fmt::format_string<Values...> line, Values&&... values) {
    add(std::string_view(fmt::format(line, std::forward<Values>(values)...)));
  }

  /// Returns the ticks of an axis from 0 to a count, for `set ytics`: whole numbers.
  [[nodiscard]] static std::string count_ticks(double max);

  /// Quotes a text for gnuplot, whatever it contains.
  [[nodiscard]] static std::string quoted(std::string_view text);

  /// Returns labels of an axis and their positions, for `set xtics`.
  [[nodiscard]] static std::string ticks(const std::vector<std::pair<std::string, double>>& labels);

  /// Draws the picture and returns the file content. A higher resolution of a PNG means more
  /// pixels, also for text and lines. Throws RunError if gnuplot is not installed or fails.
  [[nodiscard]] std::string draw(PlotFormat format, int dpi = default_dpi) const;
  /// Returns the <svg> element of each plot, without a background, drawn by one call of gnuplot;
  /// nullopt if gnuplot is not installed. Throws RunError if it fails.
  [[nodiscard]] static std::optional<std::vector<std::string>> draw_svgs(
      const std::vector<Plot>& plots);

 private:
  int width_;
  int height_;
  std::string script_;
  std::vector<std::pair<std::size_t, std::size_t>>
      images_;  ///< positions and sizes of the binary data in the script
  int blocks_ = 0;
};

/// Options of a picture.
struct PictureStyle {
  std::optional<std::string> title;  ///< replaces the default title; empty: no title
  int width = 0, height = 0;         ///< in pixels; 0: the default
  int dpi = default_dpi;             ///< resolution of a PNG in dots per inch
};

/// Draws all figures of a report next to each other in one picture; only the fields, if there are
/// any. Throws RunError if there is nothing to draw, or if Plot::draw() does.
[[nodiscard]] std::string draw(const Report& report, PlotFormat format,
                               const PictureStyle& style = {});
/// Returns the plot of one figure, without its name; nullopt if there is nothing to draw.
[[nodiscard]] std::optional<Plot> make_plot(const Figure& figure);
/// Returns the alternative text of a figure for screen readers.
[[nodiscard]] std::string alt_text(const Figure& figure);

}  // namespace wallheat
