#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wallheat/grid.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/rooms.hpp"

// Access to the columns of results, comparison of results, and properties that are derived from the
// columns. wallheat/plan_result.hpp defines the columns of plans.

namespace wallheat {

/// The solvers, by the solution that they compute.
enum class SolverKind {
  jacobi,       ///< the iterate of the reference program, bit-identical
  fastforward,  ///< the same iterate but for rounding, in fewer sweeps
  steady,       ///< the steady state, with an error bound
};

[[nodiscard]] std::string_view to_string(SolverKind kind);

inline constexpr std::array solver_kinds{SolverKind::jacobi, SolverKind::fastforward,
                                         SolverKind::steady};

/// All statuses of plans, in the order of their numbers.
inline constexpr std::array plan_statuses{PlanStatus::pending, PlanStatus::converged,
                                          PlanStatus::max_iterations, PlanStatus::empty,
                                          PlanStatus::failed};

/// Use of a result column; see WALLHEAT_RESULT_COLUMNS.
enum class ColumnUse { internal, reported, deterministic };

/// Column of PlanResult.
template <class Member>
struct ResultColumn {
  const char* name;
  ColumnUse use;
  Member accessor;  ///< accessor(result) returns a reference to the value
};
template <class Member>
ResultColumn(const char*, ColumnUse, Member) -> ResultColumn<Member>;

/// Calls visit(column) for each column of PlanResult, in order.
template <class Visit>
constexpr void for_each_column(Visit&& visit) {
#define WALLHEAT_MEMBER(Type, name, initial, use, meaning) \
  WALLHEAT_NESTED(Type, name, name, use, meaning)
#define WALLHEAT_NESTED(Type, name, part, use, meaning)                                     \
  visit(ResultColumn{#name, ColumnUse::use, [](auto& result) -> auto& { return result.part; \
  }                                                                                         \
  });
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_MEMBER, WALLHEAT_NESTED)
#undef WALLHEAT_MEMBER
#undef WALLHEAT_NESTED
}

/// Calls visit(name, member, meaning) for each column of a room, in order; `member` is a pointer to
/// the member. This list is the only definition of the columns: result files, messages, tables and
/// formulas are derived from it, and a test compares the documents with it.
template <class Visit>
constexpr void for_each_room_column(Visit&& visit) {
  visit("plan", &RoomResult::row, "index of the plan's row in /rows");
  visit("room", &RoomResult::room, "number from 1, in reading order of the rooms' first cells");
  visit("mean_temp", &RoomResult::mean_temp, "°C, mean of the room's cells");
  visit("min_temp", &RoomResult::min_temp, "°C, coldest cell");
  visit("max_temp", &RoomResult::max_temp, "°C, warmest cell");
  visit("cells", &RoomResult::cells, "cells");
  visit("cells_above", &RoomResult::cells_above, "cells above `above` of /settings");
  visit("cells_below", &RoomResult::cells_below, "cells below `below` of /settings");
  visit("first_row", &RoomResult::first_row, "first row of the bounding box");
  visit("first_col", &RoomResult::first_col, "first column of the bounding box");
  visit("last_row", &RoomResult::last_row, "last row of the bounding box");
  visit("last_col", &RoomResult::last_col, "last column of the bounding box");
  visit("centre_row", &RoomResult::centre_row, "mean row of the room's cells");
  visit("centre_col", &RoomResult::centre_col, "mean column of the room's cells");
  visit("room_crc32", &RoomResult::room_crc32, "CRC-32 of all preceding bytes of the room");
}

static_assert(
    [] {
      std::size_t bytes = 0;
      for_each_room_column([&](const char*, auto member, const char*) {
        bytes += sizeof(std::declval<RoomResult>().*member);
      });
      return bytes;
    }() == sizeof(RoomResult),
    "a gap in RoomResult would store, and check, undefined bytes");

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
