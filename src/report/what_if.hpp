#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/gnuplot.hpp"
#include "view/json_forward.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// A number of which only bounds are proven.
struct Bounded {
  double value = 0;
  double least = 0;
  double most = 0;
};

/// Temperatures of a plan or a room, in °C. NaN where there is no cell.
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

/// A plan, or a room of it, with each setting of the walls.
struct WhatIfPlan {
  std::string id;
  std::vector<Figures> figures;             ///< by setting
  std::vector<std::vector<Figures>> rooms;  ///< by setting and room, from number 1 on; or empty
};

/// What plans would be with walls of other temperatures.
struct WhatIf {
  std::vector<double> walls;  ///< by the values that their cells have in the plans, °C
  /// By setting: the temperature of each of these walls. The first setting is the plans' own.
  std::vector<std::vector<double>> settings;
  Thresholds thresholds;
  double cell_metres = 0;  ///< width of a cell; 0: unknown
  std::vector<WhatIfPlan> plans;
};

/// For people: a line a setting.
void print_what_if(const WhatIf& what_if);
/// One JSON object; rooms where there is one plan.
[[nodiscard]] Json to_json(const WhatIf& what_if);
/// A line for each plan and setting, and one for each room, with a header line.
void write_csv(std::ostream& out, const WhatIf& what_if);
inline constexpr std::string_view what_if_csv_beginning = "id,room,wall_";
/// The means over the wall with the most temperatures: a curve for each setting of the others; of a
/// single curve also the shares above and below the thresholds, or the rooms' means. Throws
/// RunError where no plan has a temperature.
[[nodiscard]] Plot what_if_plot(const WhatIf& what_if);

}  // namespace wallheat
