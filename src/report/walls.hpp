#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cell_statistics.hpp"
#include "report/report.hpp"
#include "report/room_text.hpp"
#include "solve/solver_options.hpp"
#include "solve/superposition.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {

/// Indices of some cells among the interior cells of a plan.
using CellIndices = std::vector<std::uint32_t>;
/// Cells of each room; room number k is element k - 1.
using RoomCells = std::vector<CellIndices>;

[[nodiscard]] inline RoomCells room_cells_of(const FloorPlan& plan, std::uint32_t door_cells) {
  const RoomMap map = map_rooms(plan.interior, door_cells);
  RoomCells rooms(map.room_count);
  std::uint32_t index = 0;
  for (const std::uint32_t room : map.labels.cells)
    if (room > 0) rooms[room - 1].push_back(index++);
  return rooms;
}

/// Returns the complete plan as one room.
[[nodiscard]] inline RoomCells one_room(std::size_t cells) {
  RoomCells rooms(1, CellIndices(cells));
  std::iota(rooms.front().begin(), rooms.front().end(), 0U);
  return rooms;
}

template <class Value>
[[nodiscard]] std::vector<Value> values_at(const CellIndices& indices,
                                           const std::vector<Value>& cells) {
  std::vector<Value> values;
  values.reserve(indices.size());
  for (const std::uint32_t index : indices) values.push_back(cells[index]);
  return values;
}

/// A count with a proven lower and upper bound.
struct BoundedCount {
  std::uint32_t value = 0;
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;

  /// Counts an object that has a property, surely has it, or possibly has it.
  void add(bool holds, bool surely, bool perhaps) {
    value += holds ? 1U : 0U;
    lower += surely ? 1U : 0U;
    upper += perhaps ? 1U : 0U;
  }
};

/// Statistics of the temperatures of a plan or a room, in °C. NaN if there are no cells. The
/// structure is small, because there may be millions.
struct BoundedStatistics {
  std::uint32_t cells = 0;
  BoundedCount above = {};  ///< cells above the threshold
  BoundedCount below = {};
  double mean = nan_value;
  double std = nan_value;
  double lowest = nan_value;
  double highest = nan_value;
  double bound = 0;  ///< error bound of mean, std, lowest and highest
};
/// Returns the statistics of values with this error bound.
[[nodiscard]] BoundedStatistics bounded_statistics(std::span<const double> values, double bound,
                                                   const Thresholds& thresholds);

/// Query: the temperatures of plans with other wall temperatures.
struct WhatIf {
  std::vector<double> walls;  ///< nominal wall temperatures, °C
  /// For each setting, the temperatures of these walls. The first setting consists of the nominal
  /// temperatures.
  std::vector<std::vector<double>> settings;
  Thresholds thresholds;
  std::optional<Door> door = {};  ///< nullopt: rooms are not computed
  std::size_t min_cells = 1;      ///< smaller rooms are not counted
  double cell_metres = 0;         ///< width of a cell; 0: unknown

  /// Formats a setting as "walls of 25 °C at 22 °C, walls of 5 °C at 8 °C", without the wall of
  /// index `without`.
  [[nodiscard]] std::string setting_text(std::size_t setting, std::size_t without = SIZE_MAX) const;
};

/// Results of a plan for each setting of the walls.
struct WhatIfPlan {
  std::string id;
  std::vector<std::uint32_t> rooms = {};  ///< numbers of the rooms that are counted
  std::size_t small_rooms = 0;            ///< rooms that are not counted
  std::uint32_t door_cells = 0;           ///< door width in cells
  /// By setting: statistics of the plan, then of each of the rooms in `rooms`.
  std::vector<BoundedStatistics> all = {};

  /// Returns the statistics of the complete plan if `index` is 0, otherwise of
  /// `rooms[index - 1]`.
  [[nodiscard]] const BoundedStatistics& of(std::size_t setting, std::size_t index = 0) const {
    return all.at(setting * (rooms.size() + 1) + index);
  }
};
[[nodiscard]] WhatIfPlan answer_of(const WhatIf& asked, const std::string& id,
                                   const FloorPlan& floor_plan, const Superposition& plan);

/// Skips plans without results. Text output contains all plans together, or the numbers and the
/// rooms of a single plan.
[[nodiscard]] Report make_report(const WhatIf& asked, std::vector<WhatIfPlan> plans);

/// Query: the temperature of a wall with which rooms reach a goal.
struct WallTemperatureQuery {
  double wall = 25;    ///< nominal temperature of the wall, °C
  double target = 18;  ///< °C
  /// Share of a room's area that must be above the target; 0: the mean of the room must reach the
  /// target.
  double area_share = 0;
  double room_share = 0.95;   ///< share of the rooms that must reach the goal; more than 0, up to 1
  double max = 100;           ///< maximum temperature of the wall, °C
  std::size_t min_cells = 1;  ///< smaller rooms are not counted
  double cell_metres = 0;     ///< width of a cell; 0: unknown
  bool whole_plans = false;   ///< true if each plan counts as one room
  Door door = {};
};

/// Wall temperature that a room requires.
struct RoomRequirement {
  std::uint32_t room = 0;  ///< number in the plan, from 1
  std::size_t cells = 0;
  /// Mean in °C, or % of the area above the target, with the nominal temperatures.
  double now = 0;
  double per_degree = nan_value;  ///< rise of the mean per °C of the wall
  RequiredTemperature needed = {};
};

/// Requirements of the rooms of a plan.
struct PlanRequirements {
  std::string id;
  bool has_wall = false;  ///< true if it has a wall with this nominal temperature
  double bound = 0;       ///< error bound of the temperatures with nominal walls, °C
  std::vector<RoomRequirement> rooms;
  std::uint32_t door_cells = 0;  ///< door width in cells
  std::size_t small_rooms = 0;   ///< rooms that are not counted
};

/// Returns the requirements of each room of a plan. A room is a list of indices of interior cells.
/// The wall of the query is the first one of the superposition; the other walls keep their
/// temperatures.
[[nodiscard]] std::vector<RoomRequirement> room_requirements(const WallTemperatureQuery& question,
                                                             const Superposition& linear,
                                                             const RoomCells& rooms);

/// Lowest temperature in °C that a wall can have.
inline constexpr double absolute_zero = -273.15;

/// A room that requires a hotter wall, in °C, counts as not warmed by it, because its temperature
/// hardly depends on the wall.
inline constexpr double max_meaningful_wall = 1000;

/// The answers to a query:
///   - already_warm: the goal is reached even with a wall at absolute zero;
///   - reachable: the wall must have a temperature from absolute zero to WallTemperatureQuery::max;
///   - above_max: the wall must be hotter, but not above max_meaningful_wall;
///   - not_warmed: no wall up to these temperatures is enough.
enum class Feasibility { already_warm, reachable, above_max, not_warmed };
[[nodiscard]] Feasibility feasibility_of(const RequiredTemperature& needed, double max);
[[nodiscard]] std::string_view to_string(Feasibility verdict);

/// Returns the temperature with which this share of the rooms reaches the goal. `rooms` must not be
/// empty.
[[nodiscard]] RequiredTemperature needed_for_share(const std::vector<RoomRequirement>& rooms,
                                                   double share);

/// Requirements of a set of plans.
struct WallRequirements {
  WallTemperatureQuery question;
  std::vector<PlanRequirements> plans;
};
/// Text output contains all rooms of a single plan; otherwise the rooms with the highest
/// requirements.
[[nodiscard]] Report make_report(const WallRequirements& need);

}  // namespace wallheat
