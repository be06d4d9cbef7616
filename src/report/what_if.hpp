#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// A number of which only bounds are proven.
struct Bounded {
  double value = 0;
  double least = 0;
  double most = 0;
};

/// Temperatures of a plan or a room, in °C. NaN if there is no cell.
struct Figures {
  std::size_t cells = 0;
  double mean = 0;
  double deviation = 0;  ///< standard, of the population
  double lowest = 0;
  double highest = 0;
  double bound = 0;  ///< none of these is farther off
  Bounded above;     ///< % of the cells above Thresholds::above; the others may be within the bound
  Bounded below;     ///< % of the cells below Thresholds::below
};
/// Of values that may each be off by the bound.
[[nodiscard]] Figures figures_of(std::span<const double> values, double bound,
                                 const Thresholds& thresholds);

/// What is asked: what plans would be with walls of other temperatures.
struct WhatIf {
  std::vector<double> walls;  ///< by the values that their cells have in the plans, °C
  /// By setting: the temperature of each of these walls. The first setting is the plans' own.
  std::vector<std::vector<double>> settings;
  Thresholds thresholds;
  double cell_metres = 0;  ///< width of a cell; 0: unknown
};

/// A plan, or a room of it, with each setting of the walls.
struct WhatIfPlan {
  std::string id;
  std::vector<Figures> figures;             ///< by setting
  std::vector<std::vector<Figures>> rooms;  ///< by setting and room, from number 1 on; or empty
};
/// Hands over one plan after the other, in the order of the ids.
using WhatIfPlans = std::function<void(const std::function<void(const WhatIfPlan&)>& take)>;

/// How many of some plans or rooms something holds for: surely, as computed, perhaps.
struct BoundedCount {
  std::size_t value = 0;
  std::size_t least = 0;
  std::size_t most = 0;
  void add(bool holds, bool surely, bool perhaps);
};

/// All plans with one setting.
struct SettingTotals {
  std::vector<std::optional<double>> means;  ///< of the plans, by number; nothing without a cell
  double largest_bound = 0;                  ///< of these
  BoundedCount half_above = {};  ///< plans with at least half of their cells above the threshold
  BoundedCount half_below = {};
  std::size_t rooms = 0;
  BoundedCount rooms_above = {};  ///< rooms with a mean above the threshold
  BoundedCount rooms_below = {};
};

/// What is kept of plans while they pass, whose figures with all settings would not fit in memory.
struct WhatIfTotals {
  WhatIfTotals(const WhatIf& asked, std::size_t plans);
  /// Plan number `index`.
  void add(std::size_t index, const WhatIfPlan& plan, const Thresholds& thresholds);

  std::vector<SettingTotals> settings;
};

/// `only` is the plan if there is one alone; then people see its figures and its rooms.
[[nodiscard]] Report report_of(const WhatIf& asked, const WhatIfTotals& totals, WhatIfPlans plans,
                               const WhatIfPlan* only);

}  // namespace wallheat
