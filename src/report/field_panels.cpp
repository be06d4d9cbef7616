#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/field_picture.hpp"
#include "report/report.hpp"
#include "wallheat/error.hpp"

// What is shown of a plan.

namespace wallheat {
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
