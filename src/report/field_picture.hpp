#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/gnuplot.hpp"
#include "report/room_text.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/result_reader.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {

/// Returns the names of the colour maps, the default first. In all but coolwarm, warmer is lighter.
[[nodiscard]] const std::vector<std::string>& colour_maps();

/// The quantity of a panel. All panels of a scale share one range of colours and one colour bar.
enum class PanelScale {
  temperature,
  difference,  ///< the range is symmetric about zero
  source,
  mask  ///< 0 and 1, in grey and without a colour bar
};

/// A text on a field, centred on a cell.
struct FieldLabel {
  /// The first of these that fits into the available width is drawn. If none fits, no text is.
  std::vector<std::string> texts;
  std::size_t row = 0;
  std::size_t col = 0;
  std::size_t room_for_it = 0;  ///< available width in cells
};

/// A field to draw. NaN is the ground outside of the building.
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

/// A picture of fields side by side, in rows, with a colour bar for each scale. Cells are square,
/// unless a field would be only a few pixels thin: then it is widened so that it remains visible.
struct FieldPicture {
  std::string title;
  std::vector<FieldPanel> panels;
  std::size_t columns = 1;  ///< number of panels in a row
  std::size_t side = 900;   ///< maximum length of the longer side of a panel, in pixels
  std::string colours;      ///< one of colour_maps(); empty: the default of each scale
  /// Range of the temperatures; of the other scales if no temperature is drawn. By default from the
  /// lowest to the highest value, but 0 to 25 °C if walls are at 5 or 25 °C, as in the study, so
  /// that pictures of several plans can be compared.
  std::optional<ColourRange> range;
  /// Width and height in pixels into which the picture must fit. Panels grow or shrink accordingly.
  std::optional<std::pair<int, int>> size;

  /// Returns the picture as PNG, SVG or PDF. Enlarges small fields and averages large ones. `dpi`
  /// is as in Plot::draw(). Throws RunError if Plot::draw() does.
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
/// Returns 1 at interior cells, 0 at other cells of the building, and NaN elsewhere.
[[nodiscard]] Grid<double> interior_cells(const FloorPlan& plan,
                                          const Grid<std::uint8_t>& building);
/// Returns a panel of the rooms of a plan: each cell has the mean temperature of its room, walls
/// are NaN, and each room of at least `min_cells` cells is labelled with its name, or its number if
/// it has none, and its mean.
[[nodiscard]] FieldPanel rooms_panel(const std::string& caption, const RoomMap& map,
                                     const std::vector<RoomResult>& rooms,
                                     std::size_t min_cells = 1, const RoomNames& names = {});
/// Returns the heat source of a plan, with NaN in cells where it has no effect. The plan must have
/// a heat source.
[[nodiscard]] Grid<double> heat_source_grid(const FloorPlan& plan);

/// Returns the caption of the field of a result: the steady state, the iterate after some
/// iterations, or the field of a program whose iterations are unknown.
[[nodiscard]] std::string solution_caption(const PlanResult& result);

/// Returns a picture with the initial field of a plan and its solution side by side. `building` has
/// the cells that are drawn.
[[nodiscard]] FieldPicture plan_picture(const std::string& title, const FloorPlan& plan,
                                        const Grid<std::uint8_t>& building,
                                        const Grid<double>& solution, const std::string& caption);

}  // namespace wallheat
