#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "plans/plan_source.hpp"
#include "run/superpositions.hpp"
#include "solve/solver_options.hpp"

// What the commands share that ask plans for other temperatures of their walls.

namespace wallheat {

/// A kind of wall, and the temperatures that it is to be held at.
struct WallChange {
  double kind = 0;
  std::vector<double> temperatures;  ///< °C; empty if the kind stands alone
};

/// Of "25=22", "25=18:30:1" (from, to, step) or "25", each kind once. Throws UsageError.
[[nodiscard]] std::vector<WallChange> wall_changes_in(const std::vector<std::string>& words);

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
  /// As superpose_plans, of all ids; says on stderr how far it is, and names what cannot be used.
  /// Returns an ExitStatus: whether all could be used.
  [[nodiscard]] int superpose(const std::vector<double>& kinds,
                              const TakeSuperposition& take) const;

 private:
  void check() const;

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
