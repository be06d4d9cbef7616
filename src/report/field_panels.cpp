#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "report/field_picture.hpp"
#include "report/report.hpp"
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
/// There must be such a map.
std::string_view palette_of(std::string_view name) {
  return std::ranges::find(maps, name, &ColourMap::name)->palette;
}

constexpr ColourRange study_range{0, 25};  // whose walls are at 5 and 25

}  // namespace

const std::vector<std::string>& colour_maps() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ColourMap& map : maps) all.emplace_back(map.name);
    return all;
  }();
  return names;
}

ColourScale colour_scale_of(const FieldPicture& picture, PanelScale of) {
  if (of == PanelScale::mask) return {{0, 1}, "", "0 '#686e7a', 1 '#ffffff'", false};
  ColourRange found{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
  bool is_study = false;
  for (const FieldPanel& panel : picture.panels) {
    if (panel.scale != of) continue;
    for (const double value : panel.values.cells) {
      if (!(std::abs(value) < 1e6)) continue;  // a divergence must not spoil the scale
      found.low = std::min(found.low, value);
      found.high = std::max(found.high, value);
      is_study = is_study || value == 5.0 || value == 25.0;
    }
  }
  if (found.low > found.high) found = {0, 0};  // nothing to show
  const double most = std::max({-found.low, found.high, std::numeric_limits<double>::min()});
  ColourScale scale{found, "temperature in °C", maps.front().palette};
  if (of == PanelScale::difference) {
    scale = {{-most, most}, "difference in °C", palette_of("coolwarm")};
  } else if (of == PanelScale::source) {
    scale = {{0, found.high}, "heat source", maps.front().palette};
    if (found.low < 0) scale = {{-most, most}, "heat source", palette_of("coolwarm")};
  } else if (constexpr double rounding = 1e-6; is_study &&
                                               found.low >= study_range.low - rounding &&
                                               found.high <= study_range.high + rounding) {
    scale.range = study_range;
  }
  const bool has_temperature =
      std::ranges::count(picture.panels, PanelScale::temperature, &FieldPanel::scale) > 0;
  if (picture.range && (of == PanelScale::temperature || !has_temperature))
    scale.range = *picture.range;
  auto& [low, high] = scale.range;
  if (!(low < high)) high = low + 1;  // all alike
  if (!picture.colours.empty()) scale.palette = palette_of(picture.colours);
  scale.are_numbers_long = std::max(-low, high) >= 1000 || std::max(-low, high) < 0.1;
  return scale;
}

// What is shown of a plan.

namespace {

/// With NaN in the cells for which `keeps` does not hold, by their number.
Grid<double> masked(Grid<double> field, const auto& keeps) {
  for (std::size_t cell = 0; cell < field.cells.size(); ++cell)
    if (!keeps(cell)) field.cells[cell] = not_known;
  return field;
}

}  // namespace

Grid<double> within_building(const FloorPlan& plan, const Grid<double>& field) {
  if (plan.interior.rows != field.rows || plan.interior.cols != field.cols)
    throw RunError(
        fmt::format("the plan has {} x {} cells, but the field {} x {}: they do not "
                    "belong together",
                    plan.interior.rows, plan.interior.cols, field.rows, field.cols));
  return masked(field, [&](std::size_t cell) {
    return plan.interior.cells[cell] != 0 || plan.domain.cells[cell] != 0.0;
  });
}

Grid<double> without_ground(Grid<double> field) {
  // A plan of nothing but 0 °C is no ground.
  if (std::ranges::all_of(field.cells, [](double value) { return value == 0; })) return field;
  return masked(field, [&](std::size_t cell) { return field.cells[cell] != 0; });
}

Grid<double> interior_cells(const FloorPlan& plan) {
  Grid<double> mask(plan.interior.rows, plan.interior.cols);
  for (std::size_t cell = 0; cell < mask.cells.size(); ++cell)
    mask.cells[cell] = plan.interior.cells[cell] != 0 ? 1 : 0;
  return within_building(plan, mask);
}

FieldPanel rooms_panel(const std::string& caption, const RoomMap& map,
                       const std::vector<RoomResult>& rooms) {
  FieldPanel panel{caption, Grid<double>(map.room.rows, map.room.cols, not_known)};
  // Where a number stands: the room's cell that is next to its centre, which may lie outside it.
  std::vector<std::pair<double, std::size_t>> middle(rooms.size(), {HUGE_VAL, 0});
  for (std::size_t cell = 0; cell < map.room.cells.size(); ++cell) {
    if (map.room.cells[cell] == 0) continue;
    const std::size_t k = map.room.cells[cell] - 1;
    panel.values.cells[cell] = rooms[k].mean_temp;
    const double down = static_cast<double>(cell / map.room.cols) - rooms[k].centre_row;
    const double right = static_cast<double>(cell % map.room.cols) - rooms[k].centre_col;
    middle[k] = std::min(middle[k], {down * down + right * right, cell});
  }
  for (std::size_t k = 0; k < rooms.size(); ++k) {
    const RoomResult& room = rooms[k];
    const std::size_t cell = middle[k].second;
    const std::string number = std::to_string(room.room);
    constexpr std::size_t letters_a_line = 3;  // a line is as high as three letters are wide
    panel.labels.push_back(
        {fmt::format("{}: {:.1f} °C", number, room.mean_temp), cell / map.room.cols,
         cell % map.room.cols,
         std::min<std::size_t>(letters_a_line * (room.last_row - room.first_row + 1),
                               room.last_col - room.first_col + 1),
         number});
  }
  return panel;
}

Grid<double> source_of(const FloorPlan& plan) {
  return masked(plan.source, [&](std::size_t cell) { return plan.interior.cells[cell] != 0; });
}

std::string solution_caption(const std::string& solver, std::int64_t iterations) {
  const std::string_view name = std::string_view(solver).substr(0, solver.find(' '));
  return name == "steady" ? "steady state"
                          : fmt::format("after {} iterations of {}", iterations, name);
}

FieldPicture plan_picture(const std::string& title, const FloorPlan& plan,
                          const Grid<double>& solution, const std::string& caption) {
  FieldPicture picture;
  picture.title = title;
  picture.panels = {{"start", within_building(plan, plan.domain)},
                    {caption, within_building(plan, solution)}};
  picture.columns = 2;
  return picture;
}

}  // namespace wallheat
