#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/interior_values.hpp"
#include "io/files.hpp"
#include "report/not_known.hpp"
#include "report/report.hpp"
#include "report/room_places.hpp"
#include "solve/superposition.hpp"

namespace wallheat {

/// As computed, and what it is proven to lie between.
template <class Number>
struct Bounded {
  Number value = {};
  Number least = {};
  Number most = {};
};

/// Temperatures of a plan or a room, in °C. NaN if there is no cell.
struct Figures {
  std::size_t cells = 0;
  double mean = not_known;
  double std = not_known;
  double lowest = not_known;
  double highest = not_known;
  double bound = 0;            ///< none of these is farther off
  Bounded<double> above = {};  ///< % of the cells above the threshold
  Bounded<double> below = {};
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

  /// "walls of 25 °C at 22 °C, walls of 5 °C at 8 °C", without wall number `without`.
  [[nodiscard]] std::string text_of(std::size_t setting, std::size_t without = SIZE_MAX) const;
};

/// A plan with each setting of the walls.
struct WhatIfPlan {
  std::string id;
  std::size_t rooms = 0;
  std::vector<Figures> figures = {};  ///< by setting: of the plan, then of each of its rooms

  /// Of room number `room`, from 1 on, or of the whole plan.
  [[nodiscard]] const Figures& of(std::size_t setting, std::size_t room = 0) const {
    return figures.at(setting * (rooms + 1) + room);
  }
};
[[nodiscard]] WhatIfPlan answer_of(const WhatIf& asked, const std::string& id,
                                   const Superposition& plan, const RoomPlaces& rooms);

/// The answers for all plans. Those of thousands with hundreds of settings would not fit in memory,
/// so they are in a file of the folder for temporary ones, which has no name any more.
class WhatIfPlans {
 public:
  /// Throws SystemError, as put() does.
  explicit WhatIfPlans(std::size_t plans);
  /// Plan number `index`. Threads may call it at the same time.
  void put(std::size_t index, const WhatIfPlan& plan);
  /// One after the other, by their numbers.
  void for_each(const std::function<void(const WhatIfPlan&)>& take) const;

 private:
  struct Place {
    WhatIfPlan plan;  ///< without its figures
    std::uint64_t begin = 0;
    std::size_t figures = 0;  ///< 0: the plan could not be used
  };
  std::vector<Place> places_;
  File file_;
  std::atomic<std::uint64_t> end_ = 0;
};

/// People see all plans together, or the figures and the rooms of one that was asked for alone.
[[nodiscard]] Report report_of(const WhatIf& asked, std::shared_ptr<const WhatIfPlans> plans,
                               bool is_one);

}  // namespace wallheat
