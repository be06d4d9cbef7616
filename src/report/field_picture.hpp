#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/gnuplot.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/result_reader.hpp"
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

/// Fields side by side, in rows, with a colour bar for each scale. Cells are square, unless a field
/// would be thinner than some pixels: then it is drawn wider, so that it can be seen.
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

/// Returns 1 at the cells of a plan's building: at interior cells, at fixed cells that are not at
/// 0 °C, and at fixed cells next to an interior cell, also at a corner, as they cool or warm it; 0
/// on the ground outside. `plan` is without wall overrides, so that walls that are held at 0 °C
/// belong to the building.
[[nodiscard]] Grid<std::uint8_t> building_cells(const FloorPlan& plan);
/// Returns a field (°C) with NaN outside the building. Throws RunError if the shapes differ.
[[nodiscard]] Grid<double> mask_outside(const Grid<std::uint8_t>& building, Grid<double> field);
/// Returns a stored field (°C) with NaN outside the building as far as it can be seen without the
/// plan: cells at 0 °C. Returns it unchanged if it is 0 °C everywhere, or if walls are held at 0 °C
/// by the settings of its file, as they cannot be distinguished from the ground.
[[nodiscard]] Grid<double> mask_ground(Grid<double> field, bool has_walls_at_zero);
/// Returns true if a wall override in the settings of a result file is 0 °C.
[[nodiscard]] bool has_walls_at_zero(const ResultReader& reader);
/// 1 at interior cells, 0 at other cells of the building, NaN elsewhere.
[[nodiscard]] Grid<double> interior_cells(const FloorPlan& plan,
                                          const Grid<std::uint8_t>& building);
/// The rooms of a plan: each cell is as warm as the mean of its room, walls are NaN, and each room
/// has its number and mean.
[[nodiscard]] FieldPanel rooms_panel(const std::string& caption, const RoomMap& map,
                                     const std::vector<RoomResult>& rooms);
/// The plan's heat source, which it must have, with NaN in cells where it does not count.
[[nodiscard]] Grid<double> heat_source_grid(const FloorPlan& plan);

/// Returns the caption of a solver's field: the steady state, or the iterate after `iterations`.
[[nodiscard]] std::string solution_caption(const std::string& solver, std::int64_t iterations);

/// Returns a picture with the initial field of a plan and its solution side by side. `building` has
/// the cells that are drawn.
[[nodiscard]] FieldPicture plan_picture(const std::string& title, const FloorPlan& plan,
                                        const Grid<std::uint8_t>& building,
                                        const Grid<double>& solution, const std::string& caption);

}  // namespace wallheat
