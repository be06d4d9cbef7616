#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/gnuplot.hpp"
#include "report/report.hpp"

namespace wallheat {

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
[[nodiscard]] std::optional<Plot> plot_of(const Figure& figure);
/// What it shows, for who cannot see it.
[[nodiscard]] std::string alternative_text(const Figure& figure);

}  // namespace wallheat
