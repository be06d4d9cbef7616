#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/floor_plan.hpp"
#include "wallheat/rooms.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// State of a plan in a result file. The values are stored in result files, so they must never
/// change.
enum class PlanStatus : std::uint8_t {
  pending = 0,         ///< no attempt has ended yet, or only attempts that will be retried
  converged = 1,       ///< delta fell below the tolerance
  max_iterations = 2,  ///< stopped at the limit of iterations
  empty = 3,           ///< the plan has no interior cell; its statistics are NaN
  failed = 4,          ///< see PlanResult::error
  /// A solver command returned a field, and did not report whether it converged.
  convergence_unknown = 5,
};

/// All statuses, in the order of their values.
inline constexpr std::array plan_statuses{
    PlanStatus::pending, PlanStatus::converged, PlanStatus::max_iterations,
    PlanStatus::empty,   PlanStatus::failed,    PlanStatus::convergence_unknown};

[[nodiscard]] std::string_view to_string(PlanStatus status);

/// Returns true unless the plan is pending or has failed. A resume solves pending plans and, with
/// --retry-failed, failed ones.
[[nodiscard]] constexpr bool is_solved(PlanStatus status) {
  return status != PlanStatus::pending && status != PlanStatus::failed;
}

/// Type of a text column: a std::string in a PlanResult, and `bytes` bytes, terminated by NUL, in a
/// file.
template <std::size_t bytes>
struct FixedText {};

/// The C++ type of a column's value.
template <class Type>
struct ColumnValue {
  using type = Type;
};
template <std::size_t bytes>
struct ColumnValue<FixedText<bytes>> {
  using type = std::string;
};

// The columns of a result, in the order of the rows of result files. This list is their only
// definition: PlanResult, the rows of result files, the messages between ranks, the export, and the
// comparison of results are generated from it, and tests compare the tables in the documents with
// it.
//   MEMBER  a member of PlanResult: type, name, initial value
//   NESTED  a member of a nested struct: type, name, path of the member
// The use, unit and meaning of the column follow. The use is `deterministic` (exported, and equal
// in all results of a plan), `reported` (exported), or `internal` (only in files and messages).
// This is a macro because no other construct of C++20 can name the members of several types.
// clang-format off
#define WALLHEAT_RESULT_COLUMNS(MEMBER, NESTED)                                                                           \
  MEMBER(std::uint32_t, index, 0, internal, "index of the row")                                                           \
  MEMBER(PlanStatus, status, PlanStatus::pending, deterministic,                                                          \
         "pending 0, converged 1, max_iterations 2, empty 3, failed 4, convergence_unknown 5")                                                   \
  MEMBER(FixedText<128>, id, {}, reported, "plan ID")                                                                     \
  NESTED(double, mean_temp, statistics.mean_temp, deterministic, "°C, mean of the interior cells")                        \
  NESTED(double, std_temp, statistics.std_temp, deterministic, "°C, population standard deviation of the interior cells") \
  NESTED(double, pct_above, statistics.pct_above, deterministic, "% of interior cells above `above` of /settings")        \
  NESTED(double, pct_below, statistics.pct_below, deterministic, "% of interior cells below `below` of /settings")        \
  MEMBER(std::int64_t, iterations, 0, deterministic, "number of iterations until the solver stopped; 0: unknown, or the plan is empty") \
  MEMBER(double, last_delta, nan_value, deterministic, "°C, delta of the last iteration")                                 \
  MEMBER(std::int64_t, interior_cells, 0, deterministic, "number of interior cells")                                      \
  MEMBER(std::uint32_t, rows, 0, deterministic, "shape of the grid")                                                      \
  MEMBER(std::uint32_t, cols, 0, deterministic, "shape of the grid")                                                      \
  MEMBER(double, seconds, 0, reported, "wall time in s, from reading to compressing")                                     \
  MEMBER(std::int32_t, attempts, 0, reported, "number of starts over all sessions")                                       \
  MEMBER(std::int32_t, rank, -1, reported, "MPI rank of the worker, from 1")                                              \
  MEMBER(FixedText<64>, host, {}, reported, "host name of the worker")                                                    \
  MEMBER(FixedText<64>, device, {}, reported, "device that solved the plan")                                              \
  MEMBER(FixedText<64>, solver, {}, reported, "solver name and version")                                                  \
  MEMBER(std::uint64_t, input_hash, 0, deterministic, "hash of shape, initial field, mask and heat source")               \
  MEMBER(std::uint64_t, input_stamp, 0, internal, "stamp of the plan's files; it differs if they may have changed")       \
  MEMBER(std::int64_t, field_bytes, 0, internal, "compressed size of the field; 0: no field")                             \
  MEMBER(std::uint32_t, field_crc32, 0, internal, "CRC-32 of the compressed bytes (zlib.crc32)")                          \
  MEMBER(std::int32_t, failures, 0, internal, "number of attempts that ended without a result")                           \
  MEMBER(FixedText<264>, error, {}, reported, "error message of a failed plan")                                           \
  MEMBER(double, error_bound, nan_value, deterministic, "error bound in °C; NaN unless solver is steady")                 \
  MEMBER(double, error_estimate, nan_value, reported, "error estimate in °C (with --norm l2 the root mean square)")       \
  MEMBER(double, pct_above_lower, nan_value, deterministic, "lower bound of pct_above in %; NaN for jacobi")              \
  MEMBER(double, pct_above_upper, nan_value, deterministic, "upper bound of pct_above in %")                              \
  MEMBER(double, pct_below_lower, nan_value, deterministic, "lower bound of pct_below in %")                              \
  MEMBER(double, pct_below_upper, nan_value, deterministic, "upper bound of pct_below in %")                              \
  MEMBER(std::uint32_t, uncertain_cells, 0, deterministic,                                                                \
         "number of cells at most error_bound away from a threshold; for fastforward, at most 4e-11 times the largest temperature away from it") \
  MEMBER(std::uint32_t, session, 0, internal, "session that last stored the row")                                         \
  MEMBER(double, started_s, nan_value, reported, "s from the start of the session to the start of the plan")              \
  MEMBER(double, cpu_s, nan_value, reported, "CPU time in s during `seconds`")                                            \
  MEMBER(std::int64_t, peak_memory, 0, reported, "peak memory of the solver process in bytes; 0: unknown")                \
  MEMBER(std::int32_t, fell_back, 0, deterministic, "1: fastforward fell back to plain iteration, without jumps")         \
  MEMBER(std::int32_t, thread, -1, reported, "solver thread of the worker, from 0")                                       \
  MEMBER(float, predicted_s, nan_value, reported, "predicted value of `seconds` in s")                                    \
  NESTED(float, read_s, phases.read_s, reported, "part of `seconds` for this phase")                                      \
  NESTED(float, hash_s, phases.hash_s, reported, "part of `seconds` for this phase")                                      \
  NESTED(float, solve_s, phases.solve_s, reported, "part of `seconds` for this phase")                                    \
  NESTED(float, statistics_s, phases.statistics_s, reported, "part of `seconds` for this phase")                          \
  NESTED(float, compress_s, phases.compress_s, reported, "part of `seconds` for this phase")                              \
  NESTED(float, store_wait_s, phases.store_wait_s, reported, "s that the result waited at rank 0 before it was stored")
// clang-format on

/// Durations of the phases of a plan, in s; 0 if unknown.
struct PhaseTimes {
  float read_s = 0;
  float hash_s = 0;
  float solve_s = 0;
  float statistics_s = 0;
  float compress_s = 0;
  float store_wait_s = 0;
};

/// The result of one plan: all columns, and optionally its field and rooms.
struct PlanResult {
#define WALLHEAT_MEMBER(Type, name, initial, use, meaning) ColumnValue<Type>::type name = initial;
#define WALLHEAT_NESTED(Type, name, part, use, meaning)
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_MEMBER, WALLHEAT_NESTED)
#undef WALLHEAT_MEMBER
#undef WALLHEAT_NESTED

  Statistics statistics;
  PhaseTimes phases;
  std::vector<std::byte>
      field;  ///< compressed field (see store/field_codec.hpp); empty if not stored
  std::vector<RoomResult> rooms;  ///< in order; empty if not stored, or not read
};

}  // namespace wallheat
