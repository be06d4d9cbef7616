#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "plans/plan_source.hpp"
#include "solve/solver_options.hpp"
#include "store/result_store.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// The range that a plan's temperatures cannot leave, as each is an average of four others.
struct TemperatureRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  [[nodiscard]] bool holds(double value) const { return value >= low && value <= high; }
  [[nodiscard]] double largest() const { return std::max(std::abs(low), std::abs(high)); }
};

/// From the smallest to the largest fixed or start value, and the ring of 0 °C where a room touches
/// it; wider by what a source can make, and a little, by what rounding can add.
[[nodiscard]] TemperatureRange possible_temperatures(const FloorPlan& plan,
                                                     const PlanResult& answer,
                                                     const Limits& limits);

/// What an answered plan is checked for.
enum class Check : std::size_t {
  fields,   ///< a stored field's checksum and decoding, and that the row's statistics and rooms are
            ///< its own
  inputs,   ///< the floor plan is the one that was solved
  physics,  ///< what must be true of any answer: the maximum principle, the range of each column,
            ///< the error bound of a steady state
  answers,  ///< the plan solved again gives the same bits
};
inline constexpr std::size_t check_count = 4;

/// What was found about one plan, or about many.
struct Findings {
  std::array<std::vector<std::string>, check_count> wrong;  ///< sentences that name the plan
  std::array<std::size_t, check_count> examined{};

  void add(Check check, const std::string& id, const std::string& what);
  void count(Check check) { ++examined[static_cast<std::size_t>(check)]; }
  void append(const Findings& more);
};

/// Checks the answers of a result file; several threads may use one.
class Verifier {
 public:
  /// `plans` are the inputs; without them (null) only the file itself is checked. `made_with` is
  /// what the file was made with.
  Verifier(const ResultReader& reader, SharedPlanSource plans, const SolverOptions& made_with)
      : reader_(reader), plans_(std::move(plans)), made_with_(made_with) {}

  /// Checks row `index`, which has an answer. With a solver the plan is solved again, too.
  [[nodiscard]] Findings examine(std::size_t index, Solver* solver) const;

 private:
  const ResultReader& reader_;
  SharedPlanSource plans_;
  SolverOptions made_with_;
};

}  // namespace wallheat
