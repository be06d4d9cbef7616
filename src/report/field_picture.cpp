#include "report/field_picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "core/wall_overrides.hpp"
#include "report/report.hpp"
#include "view/terminal.hpp"
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
    ColourMap{"magma",
              "0 '#000004', 1 '#140e36', 2 '#3b0f70', 3 '#641a80', 4 '#8c2981', 5 '#b73779', "
              "6 '#de4968', 7 '#f7705c', 8 '#fe9f6d', 9 '#fecf92', 10 '#fcfdbf'"},
    ColourMap{"inferno",
              "0 '#000004', 1 '#160b39', 2 '#420a68', 3 '#6a176e', 4 '#932667', 5 '#bc3754', "
              "6 '#dd513a', 7 '#f37819', 8 '#fca50a', 9 '#f6d746', 10 '#fcffa4'"},
    ColourMap{"cividis",
              "0 '#00204d', 1 '#00336f', 2 '#39486b', 3 '#575d6d', 4 '#707173', 5 '#8a8779', "
              "6 '#a69d75', 7 '#c4b56c', 8 '#e4cf5b', 9 '#ffea46'"},
    ColourMap{"grey", "0 '#101010', 1 '#f8f8f8'"},
    ColourMap{"coolwarm", "0 '#3b4cc0', 1 '#8db0fe', 2 '#fdf6c8', 3 '#f49a7b', 4 '#b40426'"},
};
/// Returns the palette of a colour map, which must exist.
std::string_view palette_of(std::string_view name) {
  return std::ranges::find(maps, name, &ColourMap::name)->palette;
}

constexpr ColourRange study_range{0, 25};  // range of the study, which has walls at 5 and 25 °C

/// Colours of the panels of one scale.
struct ColourScale {
  ColourRange range;
  std::string_view unit;
  std::string_view palette;       ///< in gnuplot's notation
  bool is_bar_wanted = true;      ///< false after its colour bar was drawn
  bool are_numbers_long = false;  ///< whether the numbers next to its colour bar are long
};

ColourScale colour_scale_of(const FieldPicture& picture, PanelScale of) {
  if (of == PanelScale::mask) return {{0, 1}, "", "0 '#686e7a', 1 '#ffffff'", false};
  ColourRange found{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
  bool is_study = false;
  for (const FieldPanel& panel : picture.panels) {
    if (panel.scale != of) continue;
    for (const double value : panel.values.cells) {
      // A divergent iteration must not determine the scale.
      if (!(std::abs(value) < 1e6)) continue;
      found.low = std::min(found.low, value);
      found.high = std::max(found.high, value);
      is_study = is_study || value == 5.0 || value == 25.0;
    }
  }
  if (found.low > found.high) found = {0, 0};  // there are no values
  // Images have the precision of float32. Smaller differences are not visible.
  constexpr double precision = 1e-6;
  const double largest = std::max(-found.low, found.high);
  constexpr double smallest = std::numeric_limits<float>::min();
  const double max = largest > smallest ? largest : 1;
  ColourScale scale{found, "temperature in °C", maps.front().palette};
  if (of == PanelScale::difference) {
    scale = {{-max, max}, "difference in °C", palette_of("coolwarm")};
  } else if (of == PanelScale::source) {
    scale = {{0, found.high}, "heat source", maps.front().palette};
    if (found.low < 0) scale = {{-max, max}, "heat source", palette_of("coolwarm")};
  } else if (constexpr double rounding = 1e-6; is_study &&
                                               found.low >= study_range.low - rounding &&
                                               found.high <= study_range.high + rounding) {
    scale.range = study_range;
  }
  auto& [low, high] = scale.range;
  const double magnitude = std::max(std::abs(low), std::abs(high));
  const bool are_alike = !(high - low > std::max(precision * magnitude, smallest));
  if (are_alike) high = low + 1;
  const bool has_temperature =
      std::ranges::count(picture.panels, PanelScale::temperature, &FieldPanel::scale) > 0;
  if (picture.range && (of == PanelScale::temperature || !has_temperature))
    scale.range = *picture.range;
  if (!picture.colours.empty()) scale.palette = palette_of(picture.colours);
  scale.are_numbers_long = std::max(-low, high) >= 1000 || std::max(-low, high) < 0.1;
  return scale;
}

/// Returns the means of blocks of `gather` x `gather` cells, without NaN.
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
      means(row, col) = cells > 0 ? sum / cells : nan_value;
    }
  }
  return means;
}

bool shows_anything(const FieldPanel& panel) {
  return std::ranges::any_of(panel.values.cells, [](double value) { return std::isfinite(value); });
}

/// Splits a UTF-8 string into its characters.
std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) text.remove_prefix(characters.emplace_back(first_character(text)).size());
  return characters;
}

/// Returns the estimated width of a character of a sans serif font, in parts of the font's size.
double text_width(const std::string& character) {
  if (character.size() > 1) return character == "°" ? 0.5 : 1;
  if (std::string_view(" .,:;'!|()[]fijlrt").find(character) != std::string_view::npos) return 0.4;
  if (std::string_view("mwMW@%").find(character) != std::string_view::npos) return 1;
  return std::isupper(static_cast<unsigned char>(character.front())) != 0 ? 0.75 : 0.64;
}
double text_width(const std::vector<std::string>& characters, double font_size) {
  double width = 0;
  for (const std::string& character : characters) width += font_size * text_width(character);
  return width;
}

/// Returns a text of at most this width. Replaces the middle of a longer text by an ellipsis,
/// because IDs differ at their beginning or end.
std::string cut_to_width(const std::string& text, double width, double font_size) {
  std::vector<std::string> characters = characters_of(text);
  if (text_width(characters, font_size) <= width) return text;
  std::size_t middle = characters.size() / 2;
  while (characters.size() > 2 && text_width(characters, font_size) + font_size > width) {
    characters.erase(characters.begin() + static_cast<std::ptrdiff_t>(middle));
    middle = characters.size() / 2;
  }
  characters.insert(characters.begin() + static_cast<std::ptrdiff_t>(middle), "…");
  return fmt::format("{}", fmt::join(characters, ""));
}

/// Layout of a picture: panels in a grid of equal areas, with the colour bars on the right. Lengths
/// are in pixels.
class Page {
 public:
  Page(const FieldPicture& picture, int dpi)
      : picture_(picture), top_(picture.title.empty() ? margin : 48) {
    const std::size_t panels = std::max<std::size_t>(picture.panels.size(), 1);
    const std::size_t columns = std::clamp<std::size_t>(picture.columns, 1, panels);
    columns_ = static_cast<double>(columns);
    rows_ = std::ceil(static_cast<double>(panels) / columns_);
    double longest = 1;  // longest side of all panels in cells
    double wide = 0;     // largest ratio of the width of a panel to its longest side
    double high = 0;
    for (const auto& [text, values, scale, labels] : picture.panels) {
      const auto rows = static_cast<double>(values.rows);
      const auto cols = static_cast<double>(values.cols);
      longest = std::max({longest, rows, cols});
      wide = std::max(wide, cols / std::max(rows, cols));
      high = std::max(high, rows / std::max(rows, cols));
      if (!scales_.contains(scale)) scales_.emplace(scale, colour_scale_of(picture, scale));
    }
    // Long numbers need more space.
    bar_ = std::ranges::any_of(scales_, [](const auto& of) { return of.second.are_numbers_long; })
               ? 132
               : 104;
    bars_ = bar_ * static_cast<double>(scales_.size() - scales_.count(PanelScale::mask));
    const double side = picture.size ? side_within(*picture.size, wide, high) : even_side(longest);
    dots_ = static_cast<std::size_t>(side * dpi / default_dpi);
    panel_width_ = side * wide;
    panel_height_ = side * high;
    if (picture.size) return;
    panel_width_ = std::max(panel_width_, 200.0);  // space for the captions of thin panels
    panel_height_ = std::max(panel_height_, 100.0);
  }

  Plot plot() {
    const double width = around_width() + columns_ * panel_width_;
    const double height = around_height() + rows_ * panel_height_;
    const double right = width - margin - bars_;
    Plot plot(static_cast<int>(std::lround(width)), static_cast<int>(std::lround(height)));
    plot.add("set multiplot");
    plot.add("set label 1 {} at screen {:.6f},{:.6f} left font ',15'",
             Plot::quoted(cut_to_width(picture_.title, width - 2 * margin, title_size)),
             margin / width, 1 - 0.45 * top_ / height);
    plot.add(
        "unset border; unset tics; unset grid; unset key; set object 1 rectangle "
        "from graph 0,0 to graph 1,1 fillcolor '#e7e9ec' fillstyle solid noborder behind");
    const double tall = std::min(height - top_ - caption - margin, 600.0);
    double bar_left = right + gap;
    for (std::size_t number = 0; number < picture_.panels.size(); ++number) {
      const FieldPanel& panel = picture_.panels[number];
      ColourScale& scale = scales_.at(panel.scale);
      plot.add("set palette maxcolors 0 defined ({})", scale.palette);
      plot.add("set cbrange [{:.10g}:{:.10g}]", scale.range.low, scale.range.high);
      plot.add("unset colorbox");
      // A panel without values does not draw a colour bar.
      if (shows_anything(panel) && std::exchange(scale.is_bar_wanted, false)) {
        plot.add(
            "set colorbox vertical user origin screen {:.6f},{:.6f} size screen {:.6f},{:.6f} "
            "noborder; set cbtics out nomirror textcolor '#262a33'; set cblabel {} offset 1,0",
            bar_left / width, (height - top_ - caption - tall) / height, 16 / width, tall / height,
            Plot::quoted(scale.unit));
        bar_left += bar_;
      }
      place_panel(plot, panel, number, width, height);
      add_panel(plot, panel, scale.range);
    }
    plot.add("unset multiplot");
    return plot;
  }

 private:
  static constexpr double margin = 24;
  static constexpr double caption = 28;  // height of the caption above a panel
  static constexpr double gap = 20;
  // Minimum side of a field, so that its colours are visible.
  static constexpr double thinnest = 12;
  static constexpr double title_size = 20;  // font size
  static constexpr double caption_size = 14.7;

  /// Width and height outside of the panels.
  [[nodiscard]] double around_width() const { return 2 * margin + columns_ * gap + bars_; }
  [[nodiscard]] double around_height() const { return top_ + rows_ * caption + margin; }

  /// Returns the maximum length of the longest side with which the picture fits into a size. The
  /// panels have the relative sizes `wide` and `high`.
  [[nodiscard]] double side_within(std::pair<int, int> size, double wide, double high) const {
    const auto [width, height] = size;
    const double side = std::min((width - around_width()) / columns_ / wide,
                                 (height - around_height()) / rows_ / high);
    constexpr double min = 16;
    if (side >= min) return std::floor(side);
    throw UsageError(fmt::format("--size {}x{} is too small for {}", width, height,
                                 count_text(picture_.panels.size(), "panel")));
  }
  /// Returns a side with which all cells have an equal whole number of pixels, or all pixels an
  /// equal whole number of cells.
  [[nodiscard]] double even_side(double cells) const {
    const double cell = static_cast<double>(picture_.side) / cells;
    return cells * (cell >= 1 ? std::floor(cell) : 1 / std::ceil(1 / cell));
  }

  /// Returns as much of a panel's caption as fits above it: drops parts at the end, which commas
  /// separate. If the first part is too long, the middle of an ID is cut, and other text is
  /// dropped, because a cut number would be wrong.
  [[nodiscard]] std::string caption_of(const FieldPanel& panel) const {
    const double width = panel_width_ + (columns_ == 1 ? gap + bars_ : gap / 2);
    std::string text = panel.caption;
    while (text_width(characters_of(text), caption_size) > width) {
      const std::size_t comma = text.rfind(", ");
      if (comma == std::string::npos)
        return text.find(' ') == std::string::npos ? cut_to_width(text, width, caption_size) : "";
      text.resize(comma);
    }
    return text;
  }

  /// Sets the position of a panel, given by its index, and adds its caption. `width` and `height`
  /// are those of the picture. gnuplot's own layout would centre the caption above the field and
  /// cut it off for a thin field.
  void place_panel(Plot& plot, const FieldPanel& panel, std::size_t number, double width,
                   double height) const {
    const auto cols = static_cast<double>(panel.values.cols);
    const auto rows = static_cast<double>(panel.values.rows);
    const double cell = std::min(panel_width_ / cols, panel_height_ / rows);
    const double wide = std::min(std::max(cell * cols, thinnest), panel_width_);
    const double high = std::min(std::max(cell * rows, thinnest), panel_height_);
    const auto columns = static_cast<std::size_t>(columns_);
    const double left = margin + static_cast<double>(number % columns) * (panel_width_ + gap);
    const double above =
        top_ + caption + static_cast<double>(number / columns) * (panel_height_ + caption);
    plot.add(
        "set lmargin at screen {:.6f}; set rmargin at screen {:.6f}; set tmargin at screen {:.6f}; "
        "set bmargin at screen {:.6f}",
        left / width, (left + wide) / width, 1 - above / height, 1 - (above + high) / height);
    plot.add("set label 2 {} at screen {:.6f},{:.6f} left textcolor '#686e7a' font ',11'",
             Plot::quoted(caption_of(panel)), left / width, 1 - (above - 0.45 * caption) / height);
  }

  void add_panel(Plot& plot, const FieldPanel& panel, const ColourRange& range) const {
    const Grid<double>& field = panel.values;
    plot.add("set xrange [0:{}]; set yrange [{}:0]", field.cols, field.rows);
    for (const FieldLabel& label : panel.labels) add_label(plot, label, panel, range);
    const std::size_t gather = (std::max(field.rows, field.cols) + dots_ - 1) / dots_;
    if (shows_anything(panel)) {
      plot.add_image(averaged(field, gather), static_cast<double>(gather));
    } else {
      plot.add("plot NaN");  // an empty plot
    }
    plot.add("unset label");
  }

  void add_label(Plot& plot, const FieldLabel& label, const FieldPanel& panel,
                 const ColourRange& range) const {
    const double cell = std::min(panel_width_ / static_cast<double>(panel.values.cols),
                                 panel_height_ / static_cast<double>(panel.values.rows));
    for (const std::string& text : label.texts) {
      constexpr double letter = 6.6;
      if (letter * static_cast<double>(display_width(text)) >
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
  double top_;  // height of the title; without a title, of the margin
  std::map<PanelScale, ColourScale> scales_;
  double columns_ = 1;  // number of panels in a row
  double rows_ = 1;
  double bar_ = 0;        // width of a colour bar with its numbers
  double bars_ = 0;       // width of all colour bars
  std::size_t dots_ = 1;  // pixels of a PNG along the longest side of a panel
  double panel_width_ = 0;
  double panel_height_ = 0;
};

}  // namespace

const std::vector<std::string>& colour_maps() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ColourMap& map : maps) all.emplace_back(map.name);
    return all;
  }();
  return names;
}

std::string FieldPicture::draw(PlotFormat format, int dpi) const {
  return plot(dpi).draw(format, dpi);
}

Plot FieldPicture::plot(int dpi) const { return Page(*this, dpi).plot(); }

// Fields and panels of a plan.

namespace {

/// Returns a field with NaN in the cells for whose index `keeps` returns false.
Grid<double> masked(Grid<double> field, const auto& keeps) {
  for (std::size_t cell = 0; cell < field.cells.size(); ++cell)
    if (!keeps(cell)) field.cells[cell] = nan_value;
  return field;
}

}  // namespace

Grid<std::uint8_t> building_cells(const FloorPlan& plan) {
  const Grid<std::uint8_t>& interior = plan.interior;
  Grid<std::uint8_t> building = interior;
  for (std::size_t row = 0; row < interior.rows; ++row)
    for (std::size_t col = 0; col < interior.cols; ++col) {
      if (interior(row, col) == 0) {
        building(row, col) |= plan.domain(row, col) != 0.0 ? 1 : 0;
        continue;
      }
      for (std::size_t r = row - std::min<std::size_t>(row, 1);
           r < std::min(row + 2, interior.rows); ++r)
        for (std::size_t c = col - std::min<std::size_t>(col, 1);
             c < std::min(col + 2, interior.cols); ++c)
          building(r, c) = 1;
    }
  return building;
}

Grid<double> mask_outside(const Grid<std::uint8_t>& building, Grid<double> field) {
  if (building.rows != field.rows || building.cols != field.cols)
    throw RunError(
        fmt::format("the plan has {} x {} cells, but the field has {} x {}: they are not "
                    "of the same plan",
                    building.rows, building.cols, field.rows, field.cols));
  return masked(std::move(field), [&](std::size_t cell) { return building.cells[cell] != 0; });
}

Grid<double> mask_ground(Grid<double> field, bool has_walls_at_zero) {
  // A field that is 0 °C everywhere is not ground.
  if (has_walls_at_zero ||
      std::ranges::all_of(field.cells, [](double value) { return value == 0; }))
    return field;
  for (double& value : field.cells)
    if (value == 0) value = nan_value;
  return field;
}

bool has_walls_at_zero(const ResultReader& reader) {
  const auto setting = reader.settings().find("wall");
  if (setting == reader.settings().end()) return false;
  const auto walls = parse_wall_overrides(setting->second).value_or(WallOverrides());
  return std::ranges::count(walls, 0.0, &WallOverride::temperature) > 0;
}

Grid<double> interior_cells(const FloorPlan& plan, const Grid<std::uint8_t>& building) {
  Grid<double> mask(plan.interior.rows, plan.interior.cols);
  for (std::size_t cell = 0; cell < mask.cells.size(); ++cell)
    mask.cells[cell] = plan.interior.cells[cell] != 0 ? 1 : 0;
  return mask_outside(building, std::move(mask));
}

FieldPanel rooms_panel(const std::string& caption, const RoomMap& map,
                       const std::vector<RoomResult>& rooms, std::size_t min_cells,
                       const RoomNames& names) {
  FieldPanel panel{caption, Grid<double>(map.labels.rows, map.labels.cols, nan_value)};
  // Position of the number of a room: its cell nearest to its centre, which may be outside of the
  // room.
  std::vector<std::pair<double, std::size_t>> middle(rooms.size(), {HUGE_VAL, 0});
  for (std::size_t cell = 0; cell < map.labels.cells.size(); ++cell) {
    if (map.labels.cells[cell] == 0) continue;
    const std::size_t k = map.labels.cells[cell] - 1;
    panel.values.cells[cell] = rooms[k].mean_temp;
    const double down = static_cast<double>(cell / map.labels.cols) - rooms[k].centre_row;
    const double right = static_cast<double>(cell % map.labels.cols) - rooms[k].centre_col;
    middle[k] = std::min(middle[k], {down * down + right * right, cell});
  }
  for (std::size_t k = 0; k < rooms.size(); ++k) {
    const RoomResult& room = rooms[k];
    if (room.cells < min_cells) continue;
    const std::size_t cell = middle[k].second;
    const std::string number = std::to_string(room.room);
    const auto named = names.find(room.room);
    const std::string& name = named == names.end() ? number : named->second;
    constexpr std::size_t letters_a_line = 3;  // a line is as high as three characters are wide
    panel.labels.push_back(
        {{fmt::format("{}: {:.1f} °C", name, room.mean_temp), name, number},
         cell / map.labels.cols,
         cell % map.labels.cols,
         std::min<std::size_t>(letters_a_line * (room.last_row - room.first_row + 1),
                               room.last_col - room.first_col + 1)});
  }
  return panel;
}

Grid<double> heat_source_grid(const FloorPlan& plan) {
  return masked(plan.source, [&](std::size_t cell) { return plan.interior.cells[cell] != 0; });
}

std::string solution_caption(const PlanResult& result) {
  const std::string_view solver = result.solver;
  const std::string_view name =
      is_solver_command(result.solver) ? "the program" : solver.substr(0, solver.find(' '));
  if (name == "steady") return "steady state";
  const auto iterations = known_iterations(result);
  return iterations
             ? fmt::format("after {} of {}",
                           count_text(static_cast<std::size_t>(*iterations), "iteration"), name)
             : fmt::format("field of {}", name);
}

FieldPicture plan_picture(const std::string& title, const FloorPlan& plan,
                          const Grid<std::uint8_t>& building, const Grid<double>& solution,
                          const std::string& caption) {
  FieldPicture picture;
  picture.title = title;
  picture.panels = {{"the plan", mask_outside(building, plan.domain)},
                    {caption, mask_outside(building, solution)}};
  picture.columns = 2;
  return picture;
}

}  // namespace wallheat
