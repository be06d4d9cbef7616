#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command_files.hpp"
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
  std::vector<double> temperatures;  ///< °C; empty where the kind stands alone
};

/// "25=22", "25=18:30:1" (from, to, step) or "25". Throws UsageError.
[[nodiscard]] WallChange wall_change_in(const std::string& text);

/// By room, from number 1 on: the places of its cells among a plan's interior cells.
using RoomPlaces = std::vector<std::vector<std::uint32_t>>;

[[nodiscard]] RoomPlaces rooms_of(const FloorPlan& plan, const Door& door);

/// The plans that are asked, and how they are solved.
class LinearPlans {
 public:
  void declare(Options& options);
  /// After parsing. Throws UsageError, RunError.
  void open(CommandFiles& files);
  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  [[nodiscard]] bool is_one() const { return ids_.size() == 1; }
  [[nodiscard]] const PlanSource& source() const { return *source_; }
  /// As superpose_plans; says on stderr how far it is, and names what cannot be used.
  [[nodiscard]] std::size_t superpose(const std::vector<double>& kinds,
                                      const TakeSuperposition& take) const;

 private:
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
