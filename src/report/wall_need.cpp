#include "report/wall_need.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "report/unknown.hpp"

namespace wallheat {
namespace {

std::vector<double> gathered(const std::vector<double>& cells,
                             const std::vector<std::uint32_t>& places) {
  std::vector<double> values;
  values.reserve(places.size());
  for (const std::uint32_t place : places) values.push_back(cells[place]);
  return values;
}

void add_mean(const NeedQuestion& question, const Superposition& linear,
              const std::vector<std::uint32_t>& places, RoomNeed& room) {
  const WallInfluence& wall = linear.walls.front();
  const BoundedValue now = bounded_mean(gathered(linear.now.cells, places), linear.now.bound);
  const BoundedValue rise =
      bounded_mean(gathered(wall.per_degree.cells, places), wall.per_degree.bound);
  room.now = now.value;
  room.per_degree = rise.value;
  room.needed = needed_temperature({wall.kind, now, rise}, question.target);
}

void add_area(const NeedQuestion& question, const Superposition& linear,
              const std::vector<NeededTemperature>& of_cells,
              const std::vector<std::uint32_t>& places, RoomNeed& room) {
  std::vector<NeededTemperature> needed;
  needed.reserve(places.size());
  std::size_t above = 0;
  for (const std::uint32_t place : places) {
    needed.push_back(of_cells[place]);
    above += linear.now.cells[place] > question.target ? 1U : 0U;
  }
  room.now = 100 * static_cast<double>(above) / static_cast<double>(places.size());
  room.per_degree = unknown;
  room.needed = needed_for_count(needed, count_of_share(question.area_share, places.size()));
}

}  // namespace

std::vector<RoomNeed> needs_of_rooms(const NeedQuestion& question, const Superposition& linear,
                                     const std::vector<std::vector<std::uint32_t>>& rooms) {
  std::vector<NeededTemperature> of_cells;
  if (question.area_share > 0) of_cells = needed_of_cells(linear, 0, question.target);
  std::vector<RoomNeed> needs;
  for (const auto& places : rooms) {
    if (places.size() < question.min_cells) continue;
    RoomNeed room;
    room.room = static_cast<std::uint32_t>(&places - rooms.data() + 1);
    room.cells = places.size();
    if (question.area_share > 0) {
      add_area(question, linear, of_cells, places, room);
    } else {
      add_mean(question, linear, places, room);
    }
    needs.push_back(room);
  }
  return needs;
}

NeedVerdict verdict_on(const NeededTemperature& needed, double limit) {
  if (std::isinf(needed.value)) return needed.value > 0 ? NeedVerdict::never : NeedVerdict::always;
  return needed.value > limit ? NeedVerdict::above_limit : NeedVerdict::reachable;
}

std::string_view to_string(NeedVerdict verdict) {
  switch (verdict) {
    case NeedVerdict::always:
      return "always";
    case NeedVerdict::reachable:
      return "reachable";
    case NeedVerdict::above_limit:
      return "above limit";
    case NeedVerdict::never:
      break;
  }
  return "never";
}

std::size_t WallNeed::rooms() const {
  std::size_t count = 0;
  for (const PlanNeed& plan : plans) count += plan.rooms.size();
  return count;
}

NeededTemperature WallNeed::for_share(double share) const {
  std::vector<NeededTemperature> all;
  for (const PlanNeed& plan : plans)
    for (const RoomNeed& room : plan.rooms) all.push_back(room.needed);
  return needed_for_count(all, count_of_share(share, all.size()));
}

NeededTemperature WallNeed::for_plan(const PlanNeed& plan) const {
  std::vector<NeededTemperature> all;
  for (const RoomNeed& room : plan.rooms) all.push_back(room.needed);
  return needed_for_count(all, count_of_share(question.room_share, all.size()));
}

}  // namespace wallheat
