#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plans/plan_source.hpp"
#include "solve/solver_options.hpp"
#include "store/result_store.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Checks of a solved plan.
enum class Check : std::size_t {
  fields,   ///< checksum and decoding of a stored field, and that the statistics and rooms of the
            ///< row match it
  inputs,   ///< that the floor plan is the one that was solved
  physics,  ///< properties of every result: the maximum principle, the range of each column, the
            ///< error bound of a steady state
  answers,  ///< that solving the plan again produces a bit-identical result
};
inline constexpr std::size_t check_count = 4;

/// Findings about one plan, or about many.
struct Findings {
  std::array<std::vector<std::string>, check_count> problems;  ///< messages that name the plan
  std::array<std::size_t, check_count> examined{};

  void add(Check check, const std::string& id, const std::string& what);
  void count(Check check) { ++examined[static_cast<std::size_t>(check)]; }
  void append(const Findings& more);
};

/// Chooses up to `count` of the rows at random. Returns them in their order; the same for the same
/// seed.
[[nodiscard]] std::vector<std::size_t> sample_rows(const std::vector<std::size_t>& rows,
                                                   std::size_t count, std::uint64_t seed);

/// Checks rows of a result file that are solved, on all cores of the process. `plans` are the
/// inputs; if null, only the file itself is checked. `made_with` are the solver options of the
/// file. Solves the plans of the rows in `sample` again. Both lists of rows must be ascending.
[[nodiscard]] Findings verify_rows(const ResultReader& reader, const PlanSource* plans,
                                   const SolverOptions& made_with,
                                   const std::vector<std::size_t>& rows,
                                   const std::vector<std::size_t>& sample);

}  // namespace wallheat
