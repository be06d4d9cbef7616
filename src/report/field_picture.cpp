#include "report/field_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "report/unknown.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct ColourMap {
  std::string_view name;
  std::string_view palette;
};
constexpr std::array maps{
    ColourMap{"heat",
              "0 '#161042', 1 '#4a1c76', 2 '#88267c', 3 '#c33864', 4 '#e96042', 5 '#f89830', "
              "6 '#fdd15c', 7 '#fff9ce'"},
    ColourMap{"viridis",
              "0 '#440154', 1 '#472c7a', 2 '#3b518b', 3 '#2c718e', 4 '#21908d', 5 '#27ad81', "
              "6 '#5cc863', 7 '#aadc32', 8 '#fde725'"},
    ColourMap{"grey", "0 '#101010', 1 '#f8f8f8'"},
    ColourMap{"coolwarm", "0 '#3b4cc0', 1 '#8db0fe', 2 '#dddddd', 3 '#f49a7b', 4 '#b40426'"},
};

/// What the colour bar spans: 0 to 25 °C, more where a value is beyond; of differences what there
/// is.
struct ColourRange {
  double low = 0;
  double high = 25;
};

ColourRange range_of(const FieldPicture& picture) {
  ColourRange range;
  if (picture.around_zero) range.high = 0;
  for (const FieldPanel& panel : picture.panels) {
    if (panel.is_mask) continue;
    for (const double value : panel.values.cells) {
      if (!(std::abs(value) < 1e6)) continue;  // a divergence must not spoil the scale
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  if (picture.around_zero) {
    const double most = std::max({-range.low, range.high, std::numeric_limits<double>::min()});
    return {-most, most};
  }
  constexpr double step = 5;
  return {step * std::floor(range.low / step), step * std::ceil(range.high / step)};
}

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
      means(row, col) = cells > 0 ? sum / cells : unknown;
    }
  }
  return means;
}

/// A rectangle of the page, in pixels from its lower left corner.
struct Box {
  double left = 0;
  double bottom = 0;
  double width = 0;
  double height = 0;
};

/// The page: panels in rows of cells that all have the same size, the colour bar at the right.
class Page {
 public:
  explicit Page(const FieldPicture& picture) : picture_(picture) {
    for (const FieldPanel& panel : picture.panels) {
      const std::size_t side = std::max({panel.values.rows, panel.values.cols, std::size_t{1}});
      const std::size_t gather = (side + picture.side - 1) / picture.side;
      Grid<double> values = averaged(panel.values, gather);
      const auto enlarge = static_cast<double>(std::max<std::size_t>(
          picture.side / std::max({values.rows, values.cols, std::size_t{1}}), 1));
      sizes_.emplace_back(enlarge * static_cast<double>(values.cols),
                          enlarge * static_cast<double>(values.rows));
      fields_.push_back(std::move(values));
      if (!panel.is_mask) with_scale_ = fields_.size() - 1;
      cell_width_ = std::max(cell_width_, sizes_.back().first);
      cell_height_ = std::max(cell_height_, sizes_.back().second);
    }
    columns_ =
        std::clamp<std::size_t>(picture.columns, 1, std::max<std::size_t>(fields_.size(), 1));
    rows_ = (std::max<std::size_t>(fields_.size(), 1) + columns_ - 1) / columns_;
    width_ = 2 * margin + static_cast<double>(columns_) * (cell_width_ + gap) + bar;
    height_ = top + static_cast<double>(rows_) * (cell_height_ + caption) + margin;
  }

  std::string draw(PlotFormat format) {
    Plot plot;
    const ColourRange range = range_of(picture_);
    plot.add("set multiplot");
    plot.add(fmt::format("set label 1 {} at screen {:.6f},{:.6f} left font ',15'",
                         Plot::quoted(picture_.title), margin / width_, 1 - 0.45 * top / height_));
    plot.add("unset border; unset tics; unset grid; unset key; set style fill solid 1 noborder");
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const bool is_mask = picture_.panels[i].is_mask;
      plot.add(fmt::format("set palette maxcolors 0 defined ({})",
                           is_mask ? "0 '#686e7a', 1 '#ffffff'" : palette()));
      plot.add(fmt::format("set cbrange [{:.10g}:{:.10g}]", is_mask ? 0 : range.low,
                           is_mask ? 1 : range.high));
      if (i == with_scale_) {
        add_colour_bar(plot);
      } else {
        plot.add("unset colorbox");
      }
      add_panel(plot, i);
      if (i == 0) plot.add("unset label 1");
    }
    plot.add("unset multiplot");
    return plot.draw(format, static_cast<int>(std::lround(width_)),
                     static_cast<int>(std::lround(height_)));
  }

 private:
  static constexpr double margin = 24;
  static constexpr double top = 48;      // for the title
  static constexpr double caption = 28;  // above each panel
  static constexpr double gap = 20;
  static constexpr double bar = 84;

  [[nodiscard]] std::string palette() const {
    const std::string& wanted = picture_.colours.empty() ? colour_maps().front() : picture_.colours;
    const auto* found = std::find_if(maps.begin(), maps.end(),
                                     [&](const ColourMap& map) { return map.name == wanted; });
    return std::string(found == maps.end() ? maps.front().palette : found->palette);
  }

  /// Where a panel's cells are drawn: in the middle of its place.
  [[nodiscard]] Box place_of(std::size_t panel) const {
    const auto column = static_cast<double>(panel % columns_);
    const std::size_t above_it = panel / columns_;  // rows of panels
    const auto row = static_cast<double>(above_it);
    const auto [width, height] = sizes_[panel];
    const double left = margin + column * (cell_width_ + gap) + (cell_width_ - width) / 2;
    const double above =
        top + row * (cell_height_ + caption) + caption + (cell_height_ - height) / 2;
    return {left, height_ - above - height, width, height};
  }

  void add_colour_bar(Plot& plot) const {
    const double tall =
        std::min(static_cast<double>(rows_) * (cell_height_ + caption) - caption, 600.0);
    plot.add(fmt::format(
        "set colorbox vertical user origin screen {:.6f},{:.6f} size screen {:.6f},{:.6f} noborder",
        (width_ - margin - bar + 12) / width_, (height_ - top - caption - tall) / height_,
        16 / width_, tall / height_));
    plot.add("set cbtics out nomirror textcolor '#262a33'");
    plot.add("set cblabel " + Plot::quoted(picture_.unit));
  }

  void add_panel(Plot& plot, std::size_t number) const {
    const Grid<double>& field = fields_[number];
    const Box box = place_of(number);
    plot.add(
        fmt::format("set lmargin at screen {:.6f}; set rmargin at screen {:.6f}; "
                    "set bmargin at screen {:.6f}; set tmargin at screen {:.6f}",
                    box.left / width_, (box.left + box.width) / width_, box.bottom / height_,
                    (box.bottom + box.height) / height_));
    plot.add(
        fmt::format("set label 2 {} at screen {:.6f},{:.6f} left textcolor '#686e7a' font ',11'",
                    Plot::quoted(picture_.panels[number].caption), box.left / width_,
                    (box.bottom + box.height + 10) / height_));
    plot.add(
        "set object 1 rectangle from graph 0,0 to graph 1,1 fillcolor '#e7e9ec' fillstyle "
        "solid noborder behind");
    plot.add(fmt::format("set xrange [0:{}]; set yrange [{}:0]", field.cols, field.rows));
    if (std::any_of(field.cells.begin(), field.cells.end(),
                    [](double value) { return std::isfinite(value); })) {
      plot.add_image(field, 1);
    } else {
      plot.add("plot nan");  // nothing but ground
    }
  }

  const FieldPicture& picture_;
  std::vector<Grid<double>> fields_;
  std::vector<std::pair<double, double>> sizes_;  // of each panel: width, height
  double cell_width_ = 200;                       // room for captions above a thin panel
  double cell_height_ = 100;
  std::size_t with_scale_ = std::numeric_limits<std::size_t>::max();  // the last that is no mask
  std::size_t columns_ = 1;
  std::size_t rows_ = 1;
  double width_ = 0;
  double height_ = 0;
};

bool in_building(const FloorPlan& plan, std::size_t cell) {
  return plan.interior.cells[cell] != 0 || plan.domain.cells[cell] != 0.0;
}

}  // namespace

const std::vector<std::string>& colour_maps() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(maps.size());
    for (const ColourMap& map : maps) all.emplace_back(map.name);
    return all;
  }();
  return names;
}

std::string FieldPicture::draw(PlotFormat format) const { return Page(*this).draw(format); }

Grid<double> within_building(const FloorPlan& plan, const Grid<double>& field) {
  if (plan.interior.rows != field.rows || plan.interior.cols != field.cols)
    throw RunError(
        fmt::format("the plan has {} x {} cells, but the field {} x {}: they do not "
                    "belong together",
                    plan.interior.rows, plan.interior.cols, field.rows, field.cols));
  Grid<double> shown = field;
  for (std::size_t cell = 0; cell < shown.cells.size(); ++cell)
    if (!in_building(plan, cell)) shown.cells[cell] = unknown;
  return shown;
}

Grid<double> rooms_and_walls(const FloorPlan& plan) {
  Grid<double> shown(plan.interior.rows, plan.interior.cols, unknown);
  for (std::size_t cell = 0; cell < shown.cells.size(); ++cell)
    if (in_building(plan, cell)) shown.cells[cell] = plan.interior.cells[cell] != 0 ? 1 : 0;
  return shown;
}

FieldPicture plan_picture(const std::string& title, const FloorPlan& plan,
                          const Grid<double>& solution) {
  FieldPicture picture;
  picture.title = title;
  picture.panels = {{"start", within_building(plan, plan.domain)},
                    {"steady state", within_building(plan, solution)}};
  picture.columns = 2;
  return picture;
}

}  // namespace wallheat
