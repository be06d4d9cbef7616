#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/floor_plan.hpp"
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

/// True where the plan has an answer (failed plans are tried again by a resume).
[[nodiscard]] constexpr bool is_answer(PlanStatus status) {
  return status != PlanStatus::pending && status != PlanStatus::failed;
}

/// Everything that is recorded of one plan.
struct PlanResult {
  std::uint32_t index = 0;  ///< in the list of ids
  std::string id;
  PlanStatus status = PlanStatus::pending;
  Statistics statistics;
  std::int64_t iterations = 0;
  double last_delta = std::numeric_limits<double>::quiet_NaN();  ///< °C
  std::int64_t interior_cells = 0;
  std::uint32_t rows = 0;  ///< shape of the grid
  std::uint32_t cols = 0;
  double seconds = 0;         ///< wall time of the worker thread: read, solve, compress
  std::int32_t attempts = 0;  ///< starts over all sessions, copies at the end of a run aside
  std::int32_t failures = 0;  ///< how many of them it failed or killed its solver
  std::int32_t rank = -1;     ///< MPI rank of the worker; 1 where one process did all
  std::string host;
  std::string device;
  std::string solver;            ///< name and version
  std::uint64_t input_hash = 0;  ///< see plan_hash
  PlanStamps input_stamps;
  std::string error;             ///< one sentence, where status is failed
  bool may_pass = false;         ///< failed, but another try may do better; not stored
  std::vector<std::byte> field;  ///< compressed field (see field_codec.hpp); empty if not asked for
};

}  // namespace wallheat
