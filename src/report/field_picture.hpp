#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/gnuplot.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {

/// Names of the colour maps, the default first. In all but coolwarm warmer is lighter throughout.
[[nodiscard]] const std::vector<std::string>& colour_maps();

/// What a panel's values are: all panels of a scale share one range of colours, and one bar.
enum class PanelScale {
  temperature,
  difference,  ///< as far below zero as above it
  source,
  mask  ///< 0 and 1, in grey and without a bar
};

/// A text on a field, whose middle is that of a cell; the short one if there is not enough room for
/// it, and none if there is not even that.
struct FieldLabel {
  std::string text;
  std::size_t row = 0;
  std::size_t col = 0;
  std::size_t room_for_it = 0;  ///< cells across
  std::string short_text = {};
};

/// A field to be drawn; NaN is ground outside of the building.
struct FieldPanel {
  std::string caption;
  Grid<double> values;
  PanelScale scale = PanelScale::temperature;
  std::vector<FieldLabel> labels{};
};

struct ColourRange {
  double low = 0;
  double high = 0;
};

/// Fields side by side, in rows, with a colour bar for each scale.
struct FieldPicture {
  std::string title;
  std::vector<FieldPanel> panels;
  std::size_t columns = 1;  ///< panels in a row
  std::size_t side = 900;   ///< pixels of a panel's longer side, at most
  std::string colours;      ///< one of colour_maps(); empty: what suits each scale
  /// Of the temperatures, or of what there is if none is drawn. By default from the lowest to the
  /// highest value; 0 to 25 °C if walls are at 5 or 25 °C, as in the study, so that pictures of
  /// several plans compare.
  std::optional<ColourRange> range;
  /// Width and height in pixels that all must fit into; panels grow or shrink.
  std::optional<std::pair<int, int>> size;

  /// As PNG, SVG or PDF. Small fields are enlarged and large ones averaged. `dpi` as of Plot::draw.
  /// Throws RunError as Plot::draw.
  [[nodiscard]] std::string draw(PlotFormat format, int dpi = default_dpi) const;
  [[nodiscard]] Plot plot(int dpi = default_dpi) const;
};

/// A plan's field (°C), with NaN in cells that are neither wall nor room. Throws RunError if the
/// shapes differ.
[[nodiscard]] Grid<double> mask_outside(const FloorPlan& plan, const Grid<double>& field);
/// The same without the plan: what is neither wall nor room is 0 °C in a field, too.
[[nodiscard]] Grid<double> mask_ground(Grid<double> field);
/// 1 at interior cells, 0 at other cells of the building, NaN elsewhere.
[[nodiscard]] Grid<double> interior_cells(const FloorPlan& plan);
/// The rooms of a plan: each cell is as warm as the mean of its room, walls are NaN, and each room
/// has its number and mean.
[[nodiscard]] FieldPanel rooms_panel(const std::string& caption, const RoomMap& map,
                                     const std::vector<RoomResult>& rooms);
/// The plan's heat source, which it must have, with NaN in cells where it does not count.
[[nodiscard]] Grid<double> heat_source_grid(const FloorPlan& plan);

/// What a solver's field is, as a caption: the steady state, or the iterate after `iterations`.
[[nodiscard]] std::string solution_caption(const std::string& solver, std::int64_t iterations);

/// Start field and solution side by side.
[[nodiscard]] FieldPicture plan_picture(const std::string& title, const FloorPlan& plan,
                                        const Grid<double>& solution, const std::string& caption);

}  // namespace wallheat
