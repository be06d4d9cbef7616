#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/floor_plan.hpp"
#include "wallheat/rooms.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// What became of a plan. The numbers are stored in result files: never renumber.
enum class PlanStatus : std::uint8_t {
  pending = 0,         ///< not solved yet
  converged = 1,       ///< delta fell below the tolerance
  max_iterations = 2,  ///< stopped at the limit of iterations
  empty = 3,           ///< the plan has no interior cell; its statistics are NaN
  failed = 4,          ///< see PlanResult::error
};

[[nodiscard]] std::string_view to_string(PlanStatus status);

/// True if the plan has an answer (failed plans are tried again by a resume).
[[nodiscard]] constexpr bool is_answer(PlanStatus status) {
  return status != PlanStatus::pending && status != PlanStatus::failed;
}

/// The type of a column that is a text: std::string in a result, `bytes` bytes in a file, the last
/// of which is NUL.
template <std::size_t bytes>
struct Text {};

template <class Type>
struct ColumnValue {
  using type = Type;
};
template <std::size_t bytes>
struct ColumnValue<Text<bytes>> {
  using type = std::string;
};

// The columns of a result, in the order of a file's rows. This list is their only home: PlanResult,
// the rows of result files, the messages between ranks, the export, and the comparison of two
// answers are made from it, and tests compare the tables of the documents with it.
//   MEMBER  a member of PlanResult: type, name, initial value
//   PART    a part of another member: type, name, that part
// Then follows its use: `answer` (exported, and two answers to a plan must agree in it), `shown`
// (exported) or `kept` (in files and messages only); last its unit and meaning. It is a macro, as
// nothing else can name the members of several types.
// clang-format off
#define WALLHEAT_RESULT_COLUMNS(MEMBER, PART)                                                                        \
  MEMBER(std::uint32_t, index, 0, kept, "number of the row")                                                         \
  MEMBER(PlanStatus, status, PlanStatus::pending, answer,                                                            \
         "pending 0, converged 1, max_iterations 2, empty 3, failed 4")                                              \
  MEMBER(Text<128>, id, {}, shown, "the plan")                                                                       \
  PART(double, mean_temp, statistics.mean_temp, answer, "°C, over interior cells")                                   \
  PART(double, std_temp, statistics.std_temp, answer, "°C, of the population")                                       \
  PART(double, pct_above_18, statistics.pct_above_18, answer, "% of interior cells")                                 \
  PART(double, pct_below_15, statistics.pct_below_15, answer, "% of interior cells")                                 \
  MEMBER(std::int64_t, iterations, 0, answer, "until the solver stopped")                                            \
  MEMBER(double, last_delta, no_number, answer, "°C, largest change of the last iteration")                          \
  MEMBER(std::int64_t, interior_cells, 0, answer, "cells that are room")                                             \
  MEMBER(std::uint32_t, rows, 0, answer, "shape of the grid")                                                        \
  MEMBER(std::uint32_t, cols, 0, answer, "shape of the grid")                                                        \
  MEMBER(double, seconds, 0, shown, "s of wall time: read, solve, compress")                                         \
  MEMBER(std::int32_t, attempts, 0, shown, "starts over all sessions")                                               \
  MEMBER(std::int32_t, rank, -1, shown, "MPI rank of the worker, from 1")                                            \
  MEMBER(Text<64>, host, {}, shown, "of the worker")                                                                 \
  MEMBER(Text<64>, device, {}, shown, "that solved it")                                                              \
  MEMBER(Text<64>, solver, {}, shown, "name and version")                                                            \
  MEMBER(std::uint64_t, input_hash, 0, answer, "of shape, start field, mask and source")                             \
  MEMBER(std::uint64_t, input_stamp, 0, kept, "of the plan's files: another one if they may have changed")           \
  MEMBER(std::int64_t, field_bytes, 0, kept, "compressed size; 0: no field")                                         \
  MEMBER(std::uint32_t, field_crc32, 0, kept, "of the compressed bytes (zlib.crc32)")                                \
  MEMBER(std::int32_t, failures, 0, kept, "attempts that failed or killed their solver")                             \
  MEMBER(Text<264>, error, {}, shown, "one sentence, if failed")                                                     \
  MEMBER(double, error_bound, no_number, answer, "°C: no cell is farther from the steady state; NaN unless steady")  \
  MEMBER(double, error_estimate, no_number, shown, "°C: the same, estimated (with --norm l2 the root mean square)")  \
  MEMBER(double, pct_above_18_least, no_number, answer,                                                              \
         "% with the cells in doubt at or below 18 °C; NaN for jacobi")                                              \
  MEMBER(double, pct_above_18_most, no_number, answer, "% with them above 18 °C")                                    \
  MEMBER(double, pct_below_15_least, no_number, answer, "% with them at or above 15 °C")                             \
  MEMBER(double, pct_below_15_most, no_number, answer, "% with them below 15 °C")                                    \
  MEMBER(std::uint32_t, cells_in_doubt, 0, answer,                                                                   \
         "within error_bound of 15 or 18 °C; of fastforward within 4e-11 of the largest temperature")                \
  MEMBER(std::uint32_t, session, 0, kept, "in which the plan was last worked on")                                    \
  MEMBER(double, started_s, no_number, shown, "s from the session's beginning to the plan's start")                  \
  MEMBER(double, cpu_s, no_number, shown, "s of `seconds` on a core")                                                \
  MEMBER(std::int64_t, peak_memory, 0, shown, "bytes that its solver process held at most; 0: unknown")              \
  MEMBER(std::int32_t, fell_back, 0, answer, "1: fastforward iterated exactly, without jumps")                       \
  MEMBER(std::int32_t, thread, -1, shown, "solver thread of the worker, from 0")                                     \
  MEMBER(float, predicted_s, no_number, shown, "s that `seconds` was foreseen to be")                                \
  PART(float, read_s, phases.read_s, shown, "s of `seconds`")                                                        \
  PART(float, hash_s, phases.hash_s, shown, "s of `seconds`")                                                        \
  PART(float, solve_s, phases.solve_s, shown, "s of `seconds`")                                                      \
  PART(float, statistics_s, phases.statistics_s, shown, "s of `seconds`")                                            \
  PART(float, compress_s, phases.compress_s, shown, "s of `seconds`")                                                \
  PART(float, store_s, phases.store_s, shown, "s from when rank 0 heard of it until it began to store it")
// clang-format on

/// Where a plan's time went, in s; 0 if it is not known.
struct PlanPhases {
  float read_s = 0;
  float hash_s = 0;
  float solve_s = 0;
  float statistics_s = 0;
  float compress_s = 0;
  float store_s = 0;
};

/// Everything that is recorded of one plan.
struct PlanResult {
#define WALLHEAT_MEMBER(Type, name, initial, use, meaning) ColumnValue<Type>::type name = initial;
#define WALLHEAT_PART(Type, name, part, use, meaning)
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_MEMBER, WALLHEAT_PART)
#undef WALLHEAT_MEMBER
#undef WALLHEAT_PART

  Statistics statistics;
  PlanPhases phases;
  std::vector<std::byte> field;  ///< compressed field (see field_codec.hpp); empty if not asked for
  std::vector<RoomResult> rooms;  ///< in order; empty if not asked for, or not read
};

}  // namespace wallheat
