#pragma once

#include <cstddef>
#include <string_view>

namespace wallheat {

/// Returns the version of the program, which CMake sets.
[[nodiscard]] std::string_view version();

/// Exit statuses of the program.
enum ExitStatus : int {
  exit_done = 0,
  exit_failed = 1,             ///< failure of the run
  exit_usage = 2,              ///< wrong usage of the command line
  exit_some_plans_failed = 3,  ///< end of a run in which some plans failed
  exit_incomplete = 75,        ///< early stop; submit the job again to continue
};

/// Returns the exit status for a file with `pending` pending plans and `failed` failed plans.
constexpr int exit_status_of(std::size_t pending, std::size_t failed) {
  if (pending > 0) return exit_incomplete;
  return failed > 0 ? exit_some_plans_failed : exit_done;
}

}  // namespace wallheat
