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

/// What a plot's file is, by its ending.
enum class PlotFormat { png, svg, pdf };

/// Throws UsageError, which names `option`, unless the file ends in .png, .svg or .pdf.
[[nodiscard]] PlotFormat plot_format(const std::string& option, const std::filesystem::path& file);
/// Dots an inch at which a picture's lengths in pixels are meant.
inline constexpr int default_dpi = 96;
/// The first bytes of a file of that format.
[[nodiscard]] std::string_view magic_of(PlotFormat format);

/// A colour of pictures, and what takes its place on a dark ground, as 0xrrggbb.
struct Colour {
  const char* name;
  unsigned light, dark;
};
/// All but those of fields. The series differ also in grey print and to colour-blind readers; steps
/// go from little to much.
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

/// A script for gnuplot, with its data in it, for a picture of width x height pixels (points of
/// 1/72 inch in a PDF are 3/4 of that).
class Plot {
 public:
  Plot(int width, int height) : width_(width), height_(height) {}
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
  [[nodiscard]] static std::string count_ticks(double max);

  /// Text in quotes, as gnuplot reads it, whatever it holds.
  [[nodiscard]] static std::string quoted(std::string_view text);

  /// Labels of an axis and where they stand, as `set xtics` takes them.
  [[nodiscard]] static std::string ticks(const std::vector<std::pair<std::string, double>>& labels);

  /// The picture. A PNG of more dots an inch has more pixels, text and lines included. Throws
  /// RunError if gnuplot is not installed or fails.
  [[nodiscard]] std::string draw(PlotFormat format, int dpi = default_dpi) const;
  /// The <svg> element of each, without a ground, drawn in one call of gnuplot; nothing if it is
  /// not installed. Throws RunError if it fails.
  [[nodiscard]] static std::optional<std::vector<std::string>> draw_svgs(
      const std::vector<Plot>& plots);

 private:
  int width_;
  int height_;
  std::string script_;
  std::vector<std::pair<std::size_t, std::size_t>>
      images_;  ///< bytes of the script that are no text
  int blocks_ = 0;
};

/// How a picture is drawn, as far as somebody said so.
struct PictureStyle {
  std::optional<std::string> title;  ///< in place of its own; empty for none
  int width = 0, height = 0;         ///< pixels; 0: what suits it
  int dpi = default_dpi;             ///< of a PNG
};

/// All figures of a report in one picture, beside each other; fields alone if there are any. Throws
/// RunError if there is nothing to draw, and as Plot::draw.
[[nodiscard]] std::string draw(const Report& report, PlotFormat format,
                               const PictureStyle& style = {});
/// One of them, as it stands below its name; nothing if there is nothing to draw.
[[nodiscard]] std::optional<Plot> make_plot(const Figure& figure);
/// What it shows, for who cannot see it.
[[nodiscard]] std::string alt_text(const Figure& figure);

}  // namespace wallheat
