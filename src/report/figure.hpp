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
  int dpi = usual_dpi;               ///< of a PNG
};

/// All figures of a report in one picture, beside each other. Throws RunError if there is none, and
/// as Plot::draw.
[[nodiscard]] std::string draw(const Report& report, PlotFormat format,
                               const PictureStyle& style = {});
/// One of them.
[[nodiscard]] std::string draw(const Figure& figure, PlotFormat format,
                               const PictureStyle& style = {});

}  // namespace wallheat
