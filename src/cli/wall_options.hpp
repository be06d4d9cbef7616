#pragma once

#include <cstddef>
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

/// Declares --wall, given once for each kind: "25=22", "25=18:30:1" (from, to, step) or "25".
void declare_wall_changes(Options& options, std::vector<WallChange>& changes, const char* name,
                          const char* help);

/// The plans that are asked, and how they are solved.
class LinearPlans {
 public:
  void declare(Options& options);
  /// After parsing. Throws RunError.
  void open();
  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  /// As superpose_plans, of all ids; says on stderr how far it is, and names what cannot be used.
  /// Returns an ExitStatus: whether all could be used.
  [[nodiscard]] int superpose(const std::vector<double>& kinds,
                              const TakeSuperposition& take) const;

 private:
  std::filesystem::path data_;
  std::vector<std::string> ids_;
  std::filesystem::path ids_file_;
  std::size_t first_ = 0;
  std::size_t threads_ = 0;
  SolverOptions solver_;
  SharedPlanSource source_;
};

}  // namespace wallheat
