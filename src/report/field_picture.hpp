#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/gnuplot.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// Names of the colour maps, the default first: heat, viridis, grey, coolwarm. In all but the last
/// warmer is lighter throughout.
[[nodiscard]] const std::vector<std::string>& colour_maps();

/// A field to be drawn; NaN is ground outside of the building.
struct FieldPanel {
  std::string caption;
  Grid<double> values;
  bool is_mask = false;  ///< 0 and 1, in grey and without a scale
};

/// Fields side by side, in rows, with one colour bar.
struct FieldPicture {
  std::string title;
  std::vector<FieldPanel> panels;
  std::size_t columns = 1;   ///< panels in a row
  std::size_t side = 900;    ///< pixels of a panel's longer side, at most
  std::string colours;       ///< one of colour_maps(); empty: the default
  bool around_zero = false;  ///< differences: as far below zero as above it
  std::string unit = "°C";

  /// As PNG, SVG or PDF. Small fields are enlarged and large ones averaged. Throws RunError as
  /// Plot::draw.
  [[nodiscard]] std::string draw(PlotFormat format) const;
};

/// A plan's field (°C), with NaN in cells that are neither wall nor room. Throws RunError where the
/// shapes differ.
[[nodiscard]] Grid<double> within_building(const FloorPlan& plan, const Grid<double>& field);
/// 1 where the plan is room, 0 where it is wall, NaN elsewhere.
[[nodiscard]] Grid<double> rooms_and_walls(const FloorPlan& plan);

/// Start field and solution side by side.
[[nodiscard]] FieldPicture plan_picture(const std::string& title, const FloorPlan& plan,
                                        const Grid<double>& solution);

}  // namespace wallheat
