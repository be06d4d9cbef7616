#include "cli/question_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "cli/options.hpp"
#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

void QuestionOptions::declare(Options& options) {
  declare_walls(options);
  declare_thresholds(options);
  options.add("rooms", flag(rooms_),
              "also tell of each room: cells, box, mean, least and largest temperature, and how "
              "many of its cells are above and below the thresholds");
  declare_door(options,
               "with --rooms: openings of at most so many cells divide rooms; 0: walls alone do; "
               "auto: a fiftieth of the grid's longer side, at least 1");
}

void QuestionOptions::declare_door(Options& options, const char* help) {
  options.add("door", value(door_, "CELLS", "auto"), help);
}

void QuestionOptions::declare_walls(Options& options) {
  options_ = &options;
  options.add("wall", value(walls_, "KIND=DEGREES"),
              "hold the walls that the plans give a temperature of KIND at DEGREES instead, in °C; "
              "may be given several times, as --wall 5=8 --wall 25=22");
}

void QuestionOptions::declare_thresholds(Options& options) {
  options_ = &options;
  options.add("above", value(thresholds_.above, "DEGREES", Thresholds{}.above),
              "count the cells above this temperature, in °C");
  options.add("below", value(thresholds_.below, "DEGREES", Thresholds{}.below),
              "count the cells below this temperature, in °C");
}

void QuestionOptions::finish(SolverOptions& solver) const {
  solver.thresholds = thresholds({});
  const auto walls = wall_temperatures_in(fmt::format("{}", fmt::join(walls_, " ")));
  if (!walls)
    throw UsageError(fmt::format(
        "--wall must be KIND=DEGREES with two temperatures in °C, as 5=8, each KIND once, not '{}'",
        printable(fmt::format("{}", fmt::join(walls_, "' and '")))));
  solver.walls = *walls;
  if (door_ != "auto" && !rooms_) throw UsageError("--door goes with --rooms");
  if (rooms_) solver.door = door();
}

Door QuestionOptions::door() const {
  const auto cells = door_ == "auto" ? Door::automatic : number_of<std::int64_t>(door_);
  if (!cells || *cells < Door::automatic || *cells > largest_door || door_ == "-1")
    throw UsageError(
        fmt::format("--door must be auto or a number of cells within 0 and {}, not '{}'",
                    largest_door, printable(door_)));
  return {*cells};
}

Thresholds QuestionOptions::thresholds(const Thresholds& usual) const {
  Thresholds asked = usual;
  if (options_->was_given("above")) asked.above = thresholds_.above;
  if (options_->was_given("below")) asked.below = thresholds_.below;
  for (const double threshold : {asked.above, asked.below})
    if (!(std::abs(threshold) <= largest_value))
      throw UsageError("--above and --below must be temperatures (°C)");
  return asked;
}

void CellSizeOption::declare(Options& options) {
  options_ = &options;
  options.add("cell-size", value(metres_, "METRES"),
              "width of a cell in metres: tells areas in m², too");
}

double CellSizeOption::metres() const {
  if (!options_->was_given("cell-size")) return 0;
  if (!std::isfinite(metres_) || metres_ <= 0)
    throw UsageError("--cell-size must be a number above 0 (metres)");
  return metres_;
}

}  // namespace wallheat
