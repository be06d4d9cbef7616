#include "core/wall_overrides.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"

namespace wallheat {

void apply_wall_overrides(FloorPlan& plan, const WallOverrides& walls) {
  if (walls.empty()) return;
  for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell) {
    if (plan.interior.cells[cell] != 0) continue;
    double& value = plan.domain.cells[cell];
    const auto wall = std::find_if(walls.begin(), walls.end(),
                                   [&](const WallOverride& one) { return one.nominal == value; });
    if (wall != walls.end()) value = wall->temperature;
  }
}

std::set<double> nominal_wall_temperatures(const FloorPlan& plan) {
  std::set<double> kinds;
  for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
    if (plan.interior.cells[cell] == 0) kinds.insert(plan.domain.cells[cell]);
  return kinds;
}

std::string to_text(const std::set<double>& kinds) {
  constexpr std::size_t few = 8;
  std::string text;
  std::size_t shown = 0;
  for (const double kind : kinds) {
    if (shown == few) return text + " and " + std::to_string(kinds.size() - few) + " more";
    text.append(shown++ == 0 ? "" : ", ").append(format_repr(kind));
  }
  return text;
}

std::string to_text(const WallOverrides& walls) {
  std::string text;
  for (const auto& [kind, held_at] : walls) {
    if (!text.empty()) text += " ";
    text.append(format_repr(kind)).append("=").append(format_repr(held_at));
  }
  return text;
}

std::optional<WallOverrides> parse_wall_overrides(std::string_view text) {
  WallOverrides walls;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const auto numbers = parse_pair<double>('=', word);
    if (!numbers) return std::nullopt;
    for (const double number : {numbers->first, numbers->second})
      if (!(std::abs(number) <= max_magnitude)) return std::nullopt;
    walls.push_back({numbers->first, numbers->second});
  }
  std::sort(walls.begin(), walls.end());
  const auto twice =
      std::adjacent_find(walls.begin(), walls.end(),
                         [](const auto& a, const auto& b) { return a.nominal == b.nominal; });
  if (twice != walls.end()) return std::nullopt;
  return walls;
}

}  // namespace wallheat
