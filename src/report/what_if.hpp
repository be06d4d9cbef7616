#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/interior_values.hpp"
#include "report/report.hpp"
#include "report/room_cells.hpp"
#include "solve/superposition.hpp"

namespace wallheat {

/// How many of something there are, and what that number is proven to lie between.
struct BoundedCount {
  std::uint32_t value = 0;
  std::uint32_t least = 0;
  std::uint32_t most = 0;

  /// Counts one for which something holds, surely holds, perhaps holds.
  void add(bool holds, bool surely, bool perhaps) {
    value += holds ? 1U : 0U;
    least += surely ? 1U : 0U;
    most += perhaps ? 1U : 0U;
  }
};

/// Temperatures of a plan or a room, in °C. NaN if there is no cell. Small, as there may be
/// millions.
struct BoundedStatistics {
  std::uint32_t cells = 0;
  BoundedCount above = {};  ///< cells above the threshold
  BoundedCount below = {};
  double mean = not_known;
  double std = not_known;
  double lowest = not_known;
  double highest = not_known;
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
[[nodiscard]] Report report_of(const WhatIf& asked, std::vector<WhatIfPlan> plans);

}  // namespace wallheat
