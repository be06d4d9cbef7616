#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/members.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/rooms.hpp"

// The lists of the columns of results and rooms, comparison of results, and properties that are
// derived from the columns. wallheat/plan_result.hpp defines the columns of plans.

namespace wallheat {

/// The solvers, by the solution that they compute.
enum class SolverKind {
  jacobi,       ///< the iterate of the reference program, bit-identical
  fastforward,  ///< the same iterate but for rounding, in fewer sweeps
  steady,       ///< the steady state, with an error bound
  command,      ///< what a program of the user computes; see SolverCommand
};

[[nodiscard]] std::string_view to_string(SolverKind kind);

/// Device of the workers that start the program of a solver command on CPU cores.
inline constexpr std::string_view command_device = "cpu command";

/// The built-in solvers.
inline constexpr std::array solver_kinds{SolverKind::jacobi, SolverKind::fastforward,
                                         SolverKind::steady};

/// Use of a result column; see WALLHEAT_RESULT_COLUMNS.
enum class ColumnUse { internal, reported, deterministic };

/// A member of a PlanResult that is a column.
template <class Type, class Of, class InRow>
struct ResultColumn {
  const char* name;
  std::type_identity<Type> type;  ///< as in WALLHEAT_RESULT_COLUMNS
  ColumnUse use;
  const char* meaning;  ///< with the unit
  Of of;                ///< of(result) returns a reference to the value in a PlanResult
  InRow in_row;         ///< in_row(row) returns a reference to the stored value in a ResultRow
};
template <class Type, class Of, class InRow>
ResultColumn(const char*, std::type_identity<Type>, ColumnUse, const char*, Of, InRow)
    -> ResultColumn<Type, Of, InRow>;

// clang-format off
/// Lists the columns of a PlanResult: a ResultColumn each.
template <class Visit>
constexpr void visit_members(std::type_identity<PlanResult>, Visit&& visit) {
#define WALLHEAT_MEMBER(Type, name, initial, use, meaning) \
  WALLHEAT_NESTED(Type, name, name, use, meaning)
#define WALLHEAT_NESTED(Type, name, part, use, meaning)                          \
  visit(ResultColumn{#name, std::type_identity<Type>{}, ColumnUse::use, meaning, \
                     [](auto& result) -> auto& { return result.part; },          \
                     [](auto& row) -> auto& { return row.name; }});
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_MEMBER, WALLHEAT_NESTED)
#undef WALLHEAT_MEMBER
#undef WALLHEAT_NESTED
}
// clang-format on

WALLHEAT_MEMBERS(RoomResult, plan, room, mean_temp, min_temp, max_temp, cells, cells_above,
                 cells_below, first_row, first_col, last_row, last_col, centre_row, centre_col,
                 room_crc32);
static_assert(
    [] {
      std::size_t bytes = 0;
      for_each_member<RoomResult>(
          [&](const auto& column) { bytes += sizeof(column.of(std::declval<RoomResult&>())); });
      return bytes;
    }() == sizeof(RoomResult),
    "padding in RoomResult would be stored and checked as undefined bytes");

/// Parts of a result that must agree between two results of a plan: the columns whose use is
/// `deterministic`, and the values of the field. PlanResult::field is not compared, because it is
/// compressed, and two libraries may compress differently.
struct ComparableResult {
  const PlanResult& columns;
  const Grid<double>* field = nullptr;  ///< null if there is none
};

/// A difference between two results: what differs, and the value in each result.
struct Difference {
  std::string column;  ///< name of the column, or the field
  std::string first;
  std::string second;
};

/// Returns true if the reference program would print the same text for both numbers, that is, if
/// they are bit-identical. 0 differs from -0. A NaN equals any NaN: it is printed as `nan` whatever
/// its bits are, and these depend on the processor (inf - inf sets the sign on x86-64, but not on
/// Arm).
[[nodiscard]] bool same_value(double a, double b);

/// Returns true if an iteration ended far from the steady state: if its error estimate exceeds a
/// tenth of the magnitude of the plan's temperatures. Returns false if the error is unknown.
[[nodiscard]] bool is_far_from_steady(const PlanResult& result);

/// Returns true if nothing is known about the distance of a result from the steady state: there is
/// neither an error bound nor an error estimate, because the iteration made too few convergence
/// checks.
[[nodiscard]] bool has_unknown_error(const PlanResult& result);

/// Returns true if the text of PlanResult::solver names a solver command.
[[nodiscard]] bool is_solver_command(std::string_view solver);

/// Returns the number of iterations; nullopt if the program of a solver command has solved the plan
/// and did not report it.
[[nodiscard]] std::optional<std::int64_t> known_iterations(const PlanResult& result);

/// Returns the time that the plan would take on a core that it does not share, in s: the CPU time
/// if it is known and a CPU solved the plan. Predicted times of other runs are based on it.
[[nodiscard]] double single_core_seconds(const PlanResult& result);

/// Returns an empty list if the results are equal. Fields are compared if both exist and have the
/// same shape.
[[nodiscard]] std::vector<Difference> find_differences(const ComparableResult& first,
                                                       const ComparableResult& second);

/// Returns the differences as text: "mean_temp is 14.5 FIRST, 14.75 SECOND; iterations is ...".
/// Returns an empty string if there are none.
[[nodiscard]] std::string to_text(const std::vector<Difference>& differences,
                                  const std::string& first, const std::string& second);

}  // namespace wallheat
