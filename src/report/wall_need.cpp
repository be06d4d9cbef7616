#include "report/wall_need.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace wallheat {
namespace {

/// What a room's mean needs, and by how much that rises for each °C of the wall.
void add_mean(const NeedQuestion& question, const Superposition& linear,
              const CellIndices& room_cells, RoomNeed& room) {
  const auto mean_of = [&](const BoundedCells& all) {
    return bounded_mean(values_at(room_cells, all.cells), all.bound);
  };
  const WallInfluence& wall = linear.walls.front();
  const BoundedValue now = mean_of(linear.now);
  const BoundedValue rise = mean_of(wall.per_degree);
  room.now = now.value;
  room.per_degree = rise.value;
  room.needed = needed_temperature({wall.kind, now, rise}, question.target);
}

void add_area(const NeedQuestion& question, const Superposition& linear,
              const std::vector<NeededTemperature>& of_cells, const CellIndices& room_cells,
              RoomNeed& room) {
  const auto above = std::ranges::count_if(
      room_cells, [&](std::uint32_t cell) { return linear.now.cells[cell] > question.target; });
  room.now = 100 * static_cast<double>(above) / static_cast<double>(room_cells.size());
  room.per_degree = not_known;
  room.needed = needed_for_count(values_at(room_cells, of_cells),
                                 count_of_share(question.area_share, room_cells.size()));
}

}  // namespace

std::vector<RoomNeed> needs_of_rooms(const NeedQuestion& question, const Superposition& linear,
                                     const RoomCells& rooms) {
  const bool is_area = question.area_share > 0;
  std::vector<NeededTemperature> of_cells;
  if (is_area) of_cells = needed_of_cells(linear, 0, question.target);
  std::vector<RoomNeed> needs;
  std::uint32_t number = 0;
  for (const CellIndices& room_cells : rooms) {
    ++number;
    if (room_cells.size() < question.min_cells) continue;
    RoomNeed& room = needs.emplace_back();
    room.room = number;
    room.cells = room_cells.size();
    if (is_area)
      add_area(question, linear, of_cells, room_cells, room);
    else
      add_mean(question, linear, room_cells, room);
  }
  return needs;
}

NeedVerdict verdict_on(const NeededTemperature& needed, double limit) {
  if (std::isinf(needed.value)) return needed.value > 0 ? NeedVerdict::never : NeedVerdict::always;
  return needed.value > limit ? NeedVerdict::above_limit : NeedVerdict::reachable;
}

std::string_view to_string(NeedVerdict verdict) {
  constexpr std::array<std::string_view, 4> names{"always", "reachable", "above limit", "never"};
  return names.at(static_cast<std::size_t>(verdict));
}

NeededTemperature needed_for_share(const std::vector<RoomNeed>& rooms, double share) {
  std::vector<NeededTemperature> all;
  for (const RoomNeed& room : rooms) all.push_back(room.needed);
  return needed_for_count(all, count_of_share(share, all.size()));
}

}  // namespace wallheat
