#pragma once

namespace wallheat {

/// How a process ends.
enum ExitStatus : int {
  exit_done = 0,
  exit_failed = 1,             ///< the run failed
  exit_usage = 2,              ///< wrong usage
  exit_some_plans_failed = 3,  ///< finished, but some plans failed
  exit_work_left = 75,         ///< stopped early: submit again to go on
};

}  // namespace wallheat
