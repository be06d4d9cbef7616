#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "plans/plan_source.hpp"
#include "run/superpositions.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/solver.hpp"

// What the commands share that ask plans for other temperatures of their walls.

namespace wallheat {

/// A kind of wall, and the temperatures that it is to be held at.
struct WallChange {
  double kind = 0;
  std::vector<double> temperatures;  ///< °C; empty if the kind stands alone
};

/// "25=22", "25=18:30:1" (from, to, step) or "25". Throws UsageError.
[[nodiscard]] WallChange wall_change_in(const std::string& text);

/// By room, from number 1 on: the places of its cells among a plan's interior cells.
using RoomPlaces = std::vector<std::vector<std::uint32_t>>;

[[nodiscard]] RoomPlaces rooms_of(const FloorPlan& plan, const Door& door);

/// Of --door, for QuestionOptions.
inline constexpr const char* door_help =
    "rooms are split at openings up to so many cells wide; 0: only at walls; auto: a fiftieth of "
    "the grid's longer side, at least 1";

/// The plans that are asked, and how they are solved.
class LinearPlans {
 public:
  void declare(Options& options);
  /// After parsing. Throws UsageError, RunError.
  void open();
  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  [[nodiscard]] bool is_one() const { return ids_.size() == 1; }
  /// As superpose_plans, of all ids; says on stderr how far it is, and names what cannot be used.
  /// Returns how many that are.
  [[nodiscard]] std::size_t superpose(const std::vector<double>& kinds,
                                      const TakeSuperposition& take) const;
  /// The same in silence: hands over what `of_plan` makes of each plan that can be used, in the
  /// order of the ids. Only as many are in memory as there are threads.
  template <class Made>
  void for_each(
      const std::vector<double>& kinds,
      const std::function<Made(std::size_t, const FloorPlan&, const Superposition&)>& of_plan,
      const std::function<void(const Made&)>& take) const {
    for (std::size_t first = 0; first < ids_.size(); first += threads()) {
      std::vector<std::optional<Made>> made(std::min(threads(), ids_.size() - first));
      superpose_some(kinds, first, made.size(),
                     [&](std::size_t index, const FloorPlan& plan, const Superposition& solved) {
                       made[index - first] = of_plan(index, plan, solved);
                     });
      for (const auto& one : made)
        if (one) take(*one);
    }
  }

 private:
  void check() const;
  [[nodiscard]] std::size_t threads() const;
  [[nodiscard]] Limits limits() const;
  void superpose_some(const std::vector<double>& kinds, std::size_t first, std::size_t count,
                      const TakeSuperposition& take) const;

  std::filesystem::path data_;
  std::vector<std::string> ids_;
  std::filesystem::path ids_file_;
  std::int64_t first_ = 0;
  int threads_ = 0;
  double spacing_ = 0;
  Limits limits_;
  SharedPlanSource source_;
};

}  // namespace wallheat
