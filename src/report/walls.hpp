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
#include "solve/solver_options.hpp"
#include "solve/superposition.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {

/// The indices of some cells among a plan's interior cells.
using CellIndices = std::vector<std::uint32_t>;
/// Those of each room, from number 1 on.
using RoomCells = std::vector<CellIndices>;

[[nodiscard]] inline RoomCells room_cells_of(const FloorPlan& plan, const Door& door) {
  const RoomMap map = map_rooms(plan.interior, door.of({plan.interior.rows, plan.interior.cols}));
  RoomCells rooms(map.room_count);
  std::uint32_t index = 0;
  for (const std::uint32_t room : map.labels.cells)
    if (room > 0) rooms[room - 1].push_back(index++);
  return rooms;
}

/// The whole plan as its one room.
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

/// How many of something there are, and what that number is proven to lie between.
struct BoundedCount {
  std::uint32_t value = 0;
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;

  /// Counts one for which something holds, surely holds, perhaps holds.
  void add(bool holds, bool surely, bool perhaps) {
    value += holds ? 1U : 0U;
    lower += surely ? 1U : 0U;
    upper += perhaps ? 1U : 0U;
  }
};

/// Temperatures of a plan or a room, in °C. NaN if there is no cell. Small, as there may be
/// millions.
struct BoundedStatistics {
  std::uint32_t cells = 0;
  BoundedCount above = {};  ///< cells above the threshold
  BoundedCount below = {};
  double mean = nan_value;
  double std = nan_value;
  double lowest = nan_value;
  double highest = nan_value;
  double bound = 0;  ///< none of these four is farther off
};
/// The statistics of values that may each be off by the bound.
[[nodiscard]] BoundedStatistics bounded_statistics(std::span<const double> values, double bound,
                                                   const Thresholds& thresholds);

/// What is asked: what plans would be with walls of other temperatures.
struct WhatIf {
  std::vector<double> walls;  ///< by the values that their cells have in the plans, °C
  /// By setting: the temperature of each of these walls. The first setting is the plans' own.
  std::vector<std::vector<double>> settings;
  Thresholds thresholds;
  double cell_metres = 0;  ///< width of a cell; 0: unknown

  /// "walls of 25 °C at 22 °C, walls of 5 °C at 8 °C", without wall number `without`.
  [[nodiscard]] std::string setting_text(std::size_t setting, std::size_t without = SIZE_MAX) const;
};

/// A plan with each setting of the walls.
struct WhatIfPlan {
  std::string id;
  std::size_t rooms = 0;
  std::vector<BoundedStatistics> all = {};  ///< by setting: of the plan, then of each of its rooms

  /// The figures of room number `room`, from 1 on; of the whole plan if it is 0.
  [[nodiscard]] const BoundedStatistics& of(std::size_t setting, std::size_t room = 0) const {
    return all.at(setting * (rooms + 1) + room);
  }
};
[[nodiscard]] WhatIfPlan answer_of(const WhatIf& asked, const std::string& id,
                                   const Superposition& plan, const RoomCells& rooms);

/// Plans without an answer are passed over. People see all plans together, or the numbers and the
/// rooms of a single one.
[[nodiscard]] Report make_report(const WhatIf& asked, std::vector<WhatIfPlan> plans);

/// What is asked of a wall: how warm it must be so that rooms reach a goal.
struct WallTemperatureQuery {
  double wall = 25;       ///< the value of its cells in the plans, °C
  double target = 18;     ///< °C
  double area_share = 0;  ///< of a room's area, to be above the target; 0: its mean is to reach it
  double room_share = 0.95;   ///< of the rooms, more than 0 to 1
  double max = 100;           ///< °C: a warmer wall is not an answer
  std::size_t min_cells = 1;  ///< a smaller room does not count
  double cell_metres = 0;     ///< width of a cell; 0: unknown
  bool whole_plans = false;   ///< each plan is one room
};

/// The temperature that a room needs.
struct RoomRequirement {
  std::uint32_t room = 0;  ///< its number in the plan, from 1 on
  std::size_t cells = 0;
  double now = 0;                 ///< its mean in °C; or % of its area above the target
  double per_degree = nan_value;  ///< by how much its mean rises for each °C of the wall
  RequiredTemperature needed = {};
};

/// A plan's rooms.
struct PlanRequirements {
  std::string id;
  bool has_wall = false;  ///< of this kind
  double bound = 0;       ///< °C, of its temperatures as they are
  std::vector<RoomRequirement> rooms;
};

/// What each room of a plan needs. A room is a list of indices of the plan's interior cells. The
/// wall that is asked for is the first one of the superposition, whose other walls stay as they
/// are.
[[nodiscard]] std::vector<RoomRequirement> room_requirements(const WallTemperatureQuery& question,
                                                             const Superposition& linear,
                                                             const RoomCells& rooms);

/// Lowest temperature in °C that a wall can have.
inline constexpr double absolute_zero = -273.15;

/// The three answers to a query:
///   - already_warm: the goal is reached even with a wall at absolute zero;
///   - reachable: the wall must have a temperature from absolute zero to WallTemperatureQuery::max;
///   - not_warmed: no wall up to that temperature is enough.
enum class Feasibility { already_warm, reachable, not_warmed };
[[nodiscard]] Feasibility feasibility_of(const RequiredTemperature& needed, double max);
[[nodiscard]] std::string_view to_string(Feasibility verdict);

/// The temperature with which this share of the rooms reaches the goal. There must be a room.
[[nodiscard]] RequiredTemperature needed_for_share(const std::vector<RoomRequirement>& rooms,
                                                   double share);

/// The answer for a set of plans.
struct WallRequirements {
  WallTemperatureQuery question;
  std::vector<PlanRequirements> plans;
};
/// People see all rooms of one plan, else those that need most.
[[nodiscard]] Report make_report(const WallRequirements& need);

}  // namespace wallheat
