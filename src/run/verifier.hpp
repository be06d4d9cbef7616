#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "plans/plan_source.hpp"
#include "solve/solver_options.hpp"
#include "store/result_store.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

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
  std::array<std::vector<std::string>, check_count> problems;  ///< sentences that name the plan
  std::array<std::size_t, check_count> examined{};

  void add(Check check, const std::string& id, const std::string& what);
  void count(Check check) { ++examined[static_cast<std::size_t>(check)]; }
  void append(const Findings& more);
};

/// Checks a row of a result file that has an answer. `plans` are the inputs; without them (null)
/// only the file itself is checked. `made_with` is what the file was made with. With a solver the
/// plan is solved again, too. Several threads may do this at once.
[[nodiscard]] Findings verify_row(const ResultReader& reader, std::size_t index,
                                  const PlanSource* plans, const SolverOptions& made_with,
                                  Solver* solver);

}  // namespace wallheat
