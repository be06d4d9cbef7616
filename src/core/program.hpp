#pragma once

#include <cstddef>
#include <string_view>

namespace wallheat {

/// This program's version, from CMake.
[[nodiscard]] std::string_view version();

/// How a process ends.
enum ExitStatus : int {
  exit_done = 0,
  exit_failed = 1,             ///< the run failed
  exit_usage = 2,              ///< wrong usage
  exit_some_plans_failed = 3,  ///< finished, but some plans failed
  exit_incomplete = 75,        ///< stopped early: submit again to go on
};

/// The status for a file in which `pending` plans are not solved yet, and `failed` plans failed.
constexpr int exit_status_of(std::size_t pending, std::size_t failed) {
  if (pending > 0) return exit_incomplete;
  return failed > 0 ? exit_some_plans_failed : exit_done;
}

}  // namespace wallheat
