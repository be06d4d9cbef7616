#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"
#include "report/room_cells.hpp"
#include "solve/superposition.hpp"

namespace wallheat {

/// What is asked of a wall: how warm it must be so that rooms reach a goal.
struct NeedQuestion {
  double wall = 25;       ///< the value of its cells in the plans, °C
  double target = 18;     ///< °C
  double area_share = 0;  ///< of a room's area, to be above the target; 0: its mean is to reach it
  double room_share = 0.95;   ///< of the rooms, more than 0 to 1
  double limit = 100;         ///< °C; a warmer wall is none
  std::size_t min_cells = 1;  ///< a smaller room does not count
  double cell_metres = 0;     ///< width of a cell; 0: unknown
  bool whole_plans = false;   ///< each plan is one room
};

/// The temperature that a room needs.
struct RoomNeed {
  std::uint32_t room = 0;  ///< its number in the plan, from 1 on
  std::size_t cells = 0;
  double now = 0;         ///< its mean in °C; or % of its area above the target
  double per_degree = 0;  ///< by how much its mean rises for each °C of the wall; NaN for areas
  NeededTemperature needed;
};

/// A plan's rooms.
struct PlanNeed {
  std::string id;
  bool has_wall = false;  ///< of this kind
  double bound = 0;       ///< °C, of its temperatures as they are
  std::vector<RoomNeed> rooms;
};

/// What each room of a plan needs. A room is a list of indices of the plan's interior cells. The
/// wall that is asked for is the first one of the superposition, whose other walls stay as they
/// are.
[[nodiscard]] std::vector<RoomNeed> needs_of_rooms(const NeedQuestion& question,
                                                   const Superposition& linear,
                                                   const RoomCells& rooms);

/// always: the wall may be as cold as one likes. never: no temperature of the wall is enough.
enum class NeedVerdict { always, reachable, above_limit, never };
[[nodiscard]] NeedVerdict verdict_on(const NeededTemperature& needed, double limit);
[[nodiscard]] std::string_view to_string(NeedVerdict verdict);

/// The temperature with which this share of the rooms reaches the goal. There must be a room.
[[nodiscard]] NeededTemperature needed_for_share(const std::vector<RoomNeed>& rooms, double share);

/// The answer for a set of plans.
struct WallNeed {
  NeedQuestion question;
  std::vector<PlanNeed> plans;
};
/// People see all rooms of one plan, else those that need most.
[[nodiscard]] Report report_of(const WallNeed& need);

}  // namespace wallheat
