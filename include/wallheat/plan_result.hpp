#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

// The columns of a result, in the order of a file's rows. This list is their only home: PlanResult,
// the rows of result files, the messages between ranks, the export, and the comparison of two
// answers are made from it, and tests compare the tables of the documents with it.
//   NUMBER  a member of PlanResult: type, name, initial value
//   TEXT    a member of PlanResult: bytes in a file (the last is NUL), name
//   PART    a part of another member: type, name, that part
//   STORED  known to result files only: type, name, initial value
// Then follows its use: `answer` (exported, and two answers to a plan must agree in it), `shown`
// (exported) or `kept` (in files and messages only); last its unit and meaning.
// clang-format off
#define WALLHEAT_RESULT_COLUMNS(NUMBER, TEXT, PART, STORED)                                                          \
  NUMBER(std::uint32_t, index, 0, kept, "number of the row")                                                         \
  NUMBER(PlanStatus, status, PlanStatus::pending, answer,                                                            \
         "pending 0, converged 1, max_iterations 2, empty 3, failed 4")                                              \
  TEXT(128, id, shown, "the plan")                                                                                   \
  PART(double, mean_temp, statistics.mean_temp, answer, "°C, over interior cells")                                   \
  PART(double, std_temp, statistics.std_temp, answer, "°C, of the population")                                       \
  PART(double, pct_above_18, statistics.pct_above_18, answer, "% of interior cells")                                 \
  PART(double, pct_below_15, statistics.pct_below_15, answer, "% of interior cells")                                 \
  NUMBER(std::int64_t, iterations, 0, answer, "until the solver stopped")                                            \
  NUMBER(double, last_delta, std::numeric_limits<double>::quiet_NaN(), answer,                                       \
         "°C, largest change of the last iteration")                                                                 \
  NUMBER(std::int64_t, interior_cells, 0, answer, "cells that are room")                                             \
  NUMBER(std::uint32_t, rows, 0, answer, "shape of the grid")                                                        \
  NUMBER(std::uint32_t, cols, 0, answer, "shape of the grid")                                                        \
  NUMBER(double, seconds, 0, shown, "s of wall time: read, solve, compress")                                         \
  NUMBER(std::int32_t, attempts, 0, shown, "starts over all sessions")                                               \
  NUMBER(std::int32_t, rank, -1, shown, "MPI rank of the worker, from 1")                                            \
  TEXT(64, host, shown, "of the worker")                                                                             \
  TEXT(64, device, shown, "that solved it")                                                                          \
  TEXT(64, solver, shown, "name and version")                                                                        \
  NUMBER(std::uint64_t, input_hash, 0, answer, "of shape, start field, mask and source")                             \
  NUMBER(std::uint64_t, input_stamp, 0, kept, "of the plan's files: another one if they may have changed")           \
  NUMBER(std::int64_t, field_bytes, 0, kept, "compressed size; 0: no field")                                         \
  NUMBER(std::uint32_t, field_crc32, 0, kept, "of the compressed bytes (zlib.crc32)")                                \
  NUMBER(std::int32_t, failures, 0, kept, "attempts that failed or killed their solver")                             \
  TEXT(264, error, shown, "one sentence, if failed")                                                                 \
  NUMBER(double, error_bound, std::numeric_limits<double>::quiet_NaN(), answer,                                      \
         "°C: no cell is farther from the steady state; NaN unless steady")                                          \
  NUMBER(double, error_estimate, std::numeric_limits<double>::quiet_NaN(), shown,                                    \
         "°C: the same, estimated (with --norm l2 the root mean square)")                                            \
  NUMBER(double, pct_above_18_least, std::numeric_limits<double>::quiet_NaN(), answer,                               \
         "% with the cells in doubt at or below 18 °C; NaN for jacobi")                                              \
  NUMBER(double, pct_above_18_most, std::numeric_limits<double>::quiet_NaN(), answer,                                \
         "% with them above 18 °C")                                                                                  \
  NUMBER(double, pct_below_15_least, std::numeric_limits<double>::quiet_NaN(), answer,                               \
         "% with them at or above 15 °C")                                                                            \
  NUMBER(double, pct_below_15_most, std::numeric_limits<double>::quiet_NaN(), answer,                                \
         "% with them below 15 °C")                                                                                  \
  NUMBER(std::uint32_t, cells_in_doubt, 0, answer,                                                                   \
         "within error_bound of 15 or 18 °C; of fastforward within 4e-11 of the largest temperature")                \
  NUMBER(std::uint32_t, session, 0, kept, "in which the plan was last worked on")                                    \
  NUMBER(double, started_s, std::numeric_limits<double>::quiet_NaN(), shown,                                         \
         "s from the session's beginning to the plan's start")                                                       \
  NUMBER(double, cpu_s, std::numeric_limits<double>::quiet_NaN(), shown,                                             \
         "s of `seconds` on a core")                                                                                 \
  NUMBER(std::int64_t, peak_memory, 0, shown,                                                                        \
         "bytes that its solver process held at most; 0: unknown")                                                   \
  NUMBER(std::int32_t, fell_back, 0, answer, "1: fastforward iterated exactly, without jumps")                       \
  NUMBER(std::int32_t, thread, -1, shown, "solver thread of the worker, from 0")                                     \
  NUMBER(float, predicted_s, std::numeric_limits<float>::quiet_NaN(), shown,                                         \
         "s that `seconds` was foreseen to be")                                                                      \
  PART(float, read_s, phases.read_s, shown, "s of `seconds`")                                                        \
  PART(float, hash_s, phases.hash_s, shown, "s of `seconds`")                                                        \
  PART(float, solve_s, phases.solve_s, shown, "s of `seconds`")                                                      \
  PART(float, statistics_s, phases.statistics_s, shown, "s of `seconds`")                                            \
  PART(float, compress_s, phases.compress_s, shown, "s of `seconds`")                                                \
  PART(float, store_s, phases.store_s, shown, "s from when rank 0 heard of it until it began to store it")           \
  STORED(std::uint32_t, row_crc32, 0, "of the row before it")
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
#define WALLHEAT_NUMBER(type, name, initial, use, meaning) type name = initial;
#define WALLHEAT_TEXT(bytes, name, use, meaning) std::string name;
#define WALLHEAT_PART(type, name, part, use, meaning)
#define WALLHEAT_STORED(type, name, initial, meaning)
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_NUMBER, WALLHEAT_TEXT, WALLHEAT_PART, WALLHEAT_STORED)
#undef WALLHEAT_NUMBER
#undef WALLHEAT_TEXT
#undef WALLHEAT_PART
#undef WALLHEAT_STORED

  Statistics statistics;
  PlanPhases phases;
  std::vector<std::byte> field;  ///< compressed field (see field_codec.hpp); empty if not asked for
  std::vector<RoomResult> rooms;  ///< in order; empty if not asked for, or not read
};

}  // namespace wallheat
