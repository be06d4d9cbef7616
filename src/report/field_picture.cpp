#include "report/field_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "report/report.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Means of squares of `gather` x `gather` cells, those that are NaN left out.
Grid<double> averaged(const Grid<double>& field, std::size_t gather) {
  Grid<double> means((field.rows + gather - 1) / gather, (field.cols + gather - 1) / gather);
  for (std::size_t row = 0; row < means.rows; ++row) {
    for (std::size_t col = 0; col < means.cols; ++col) {
      double sum = 0;
      double cells = 0;
      for (std::size_t r = row * gather; r < std::min((row + 1) * gather, field.rows); ++r) {
        for (std::size_t c = col * gather; c < std::min((col + 1) * gather, field.cols); ++c) {
          if (std::isnan(field(r, c))) continue;
          sum += field(r, c);
          cells += 1;
        }
      }
      means(row, col) = cells > 0 ? sum / cells : not_known;
    }
  }
  return means;
}

bool shows_anything(const FieldPanel& panel) {
  return std::ranges::any_of(panel.values.cells, [](double value) { return std::isfinite(value); });
}

/// Panels in a grid of areas that all have the same size, the colour bars at the right. Lengths are
/// in pixels.
class Page {
 public:
  Page(const FieldPicture& picture, int dpi) : picture_(picture) {
    const std::size_t panels = std::max<std::size_t>(picture.panels.size(), 1);
    const std::size_t columns = std::clamp<std::size_t>(picture.columns, 1, panels);
    columns_ = static_cast<double>(columns);
    rows_ = std::ceil(static_cast<double>(panels) / columns_);
    double longest = 1;  // cells
    double wide = 0;     // parts of the longest side
    double high = 0;
    for (const auto& [text, values, scale, labels] : picture.panels) {
      const auto rows = static_cast<double>(values.rows);
      const auto cols = static_cast<double>(values.cols);
      longest = std::max({longest, rows, cols});
      wide = std::max(wide, cols / std::max(rows, cols));
      high = std::max(high, rows / std::max(rows, cols));
      if (!scales_.contains(scale)) scales_.emplace(scale, colour_scale_of(picture, scale));
    }
    // Some numbers are long.
    bar_ = std::ranges::any_of(scales_, [](const auto& of) { return of.second.are_numbers_long; })
               ? 132
               : 104;
    bars_ = bar_ * static_cast<double>(scales_.size() - scales_.count(PanelScale::mask));
    const double side = picture.size ? side_within(*picture.size, wide, high) : even_side(longest);
    dots_ = static_cast<std::size_t>(side * dpi / default_dpi);
    panel_width_ = side * wide;
    panel_height_ = side * high;
    if (picture.size) return;
    panel_width_ = std::max(panel_width_, 200.0);  // room for captions above a thin panel
    panel_height_ = std::max(panel_height_, 100.0);
  }

  Plot plot() {
    const double width = around_width() + columns_ * panel_width_;
    const double height = around_height() + rows_ * panel_height_;
    const double right = width - margin - bars_;
    Plot plot(static_cast<int>(std::lround(width)), static_cast<int>(std::lround(height)));
    plot.add(
        "set multiplot layout {},{} margins screen {:.6f},{:.6f},{:.6f},{:.6f} spacing screen "
        "{:.6f},{:.6f}",
        rows_, columns_, margin / width, right / width, margin / height,
        1 - (top + caption) / height, gap / width, caption / height);
    plot.add("set label 1 {} at screen {:.6f},{:.6f} left font ',15'", Plot::quoted(picture_.title),
             margin / width, 1 - 0.45 * top / height);
    plot.add(
        "unset border; unset tics; unset grid; unset key; set size ratio -1; set object 1 "
        "rectangle "
        "from graph 0,0 to graph 1,1 fillcolor '#e7e9ec' fillstyle solid noborder behind; "
        "set title offset 0,-0.6 textcolor '#686e7a' font ',11'");
    const double tall = std::min(height - top - caption - margin, 600.0);
    double bar_left = right + gap;
    for (const FieldPanel& panel : picture_.panels) {
      ColourScale& scale = scales_.at(panel.scale);
      plot.add("set palette maxcolors 0 defined ({})", scale.palette);
      plot.add("set cbrange [{:.10g}:{:.10g}]", scale.range.low, scale.range.high);
      plot.add("unset colorbox");
      // A panel of nothing but ground draws no bar.
      if (shows_anything(panel) && std::exchange(scale.is_bar_wanted, false)) {
        plot.add(
            "set colorbox vertical user origin screen {:.6f},{:.6f} size screen {:.6f},{:.6f} "
            "noborder; set cbtics out nomirror textcolor '#262a33'; set cblabel {} offset 1,0",
            bar_left / width, (height - top - caption - tall) / height, 16 / width, tall / height,
            Plot::quoted(scale.unit));
        bar_left += bar_;
      }
      add_panel(plot, panel, scale.range);
    }
    plot.add("unset multiplot");
    return plot;
  }

 private:
  static constexpr double margin = 24;
  static constexpr double top = 48;      // for the title
  static constexpr double caption = 28;  // above each panel
  static constexpr double gap = 20;

  /// What is not panels.
  [[nodiscard]] double around_width() const { return 2 * margin + columns_ * gap + bars_; }
  [[nodiscard]] double around_height() const { return top + rows_ * caption + margin; }

  /// The largest side with which all fits into a size, of panels so wide and high.
  [[nodiscard]] double side_within(std::pair<int, int> size, double wide, double high) const {
    const auto [width, height] = size;
    const double side = std::min((width - around_width()) / columns_ / wide,
                                 (height - around_height()) / rows_ / high);
    constexpr double least = 16;
    if (side >= least) return std::floor(side);
    throw UsageError(fmt::format("--size {}x{} leaves no room for {} panels", width, height,
                                 picture_.panels.size()));
  }
  /// All cells as large in pixels look best.
  [[nodiscard]] double even_side(double cells) const {
    const double cell = static_cast<double>(picture_.side) / cells;
    return cells * (cell >= 1 ? std::floor(cell) : 1 / std::ceil(1 / cell));
  }

  /// As much of it as has room above the panel, by the parts that commas end.
  [[nodiscard]] std::string caption_of(const FieldPanel& panel) const {
    constexpr double letter = 7.6;
    std::string text = panel.caption;
    while (letter * static_cast<double>(text.size()) > panel_width_ + gap) {
      const std::size_t comma = text.rfind(", ");
      if (comma == std::string::npos) break;
      text.resize(comma);
    }
    return text;
  }

  void add_panel(Plot& plot, const FieldPanel& panel, const ColourRange& range) const {
    const Grid<double>& field = panel.values;
    plot.add("set title {}", Plot::quoted(caption_of(panel)));
    plot.add("set xrange [0:{}]; set yrange [{}:0]", field.cols, field.rows);
    for (const FieldLabel& label : panel.labels) add_label(plot, label, panel, range);
    const std::size_t gather = (std::max(field.rows, field.cols) + dots_ - 1) / dots_;
    if (shows_anything(panel)) {
      plot.add_image(averaged(field, gather), static_cast<double>(gather));
    } else {
      plot.add("plot NaN");  // nothing but ground
    }
    plot.add("unset label");
  }

  void add_label(Plot& plot, const FieldLabel& label, const FieldPanel& panel,
                 const ColourRange& range) const {
    const double cell = std::min(panel_width_ / static_cast<double>(panel.values.cols),
                                 panel_height_ / static_cast<double>(panel.values.rows));
    for (const std::string& text : {label.text, label.short_text}) {
      constexpr double letter = 6.6;
      if (letter * static_cast<double>(columns_of(text)) >
          static_cast<double>(label.room_for_it) * cell)
        continue;
      const double warmth =
          (panel.values(label.row, label.col) - range.low) / (range.high - range.low);
      return plot.add("set label {} at first {},{} center front textcolor '{}' font ',10'",
                      Plot::quoted(text), static_cast<double>(label.col) + 0.5,
                      static_cast<double>(label.row) + 0.5, warmth > 0.6 ? "#101010" : "#ffffff");
    }
  }

  const FieldPicture& picture_;
  std::map<PanelScale, ColourScale> scales_;
  double columns_ = 1;  // of panels
  double rows_ = 1;
  double bar_ = 0;        // width of a colour bar with its numbers
  double bars_ = 0;       // of all
  std::size_t dots_ = 1;  // of a PNG along a panel's longest side
  double panel_width_ = 0;
  double panel_height_ = 0;
};

}  // namespace

std::string FieldPicture::draw(PlotFormat format, int dpi) const {
  return plot(dpi).draw(format, dpi);
}

Plot FieldPicture::plot(int dpi) const { return Page(*this, dpi).plot(); }

}  // namespace wallheat
