#pragma once

#include <filesystem>
#include <string>

#include "wallheat/floor_plan.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// Whether this build can draw pictures (it can where CMake found cairo).
[[nodiscard]] bool can_draw();

/// Draws start field and solution side by side with a colour bar in °C as a PNG file. `solution`
/// has the shape of the plan, in °C; cells that are neither wall nor room are light grey. Small
/// grids are enlarged and large ones averaged, to panels of at most 900 pixels. Throws RunError
/// (unwritable file, shapes that differ, or a build without cairo).
void draw_plan(const std::filesystem::path& png, const std::string& title, const FloorPlan& plan,
               const Grid<double>& solution);

}  // namespace wallheat
