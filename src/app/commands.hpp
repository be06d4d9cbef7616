#pragma once

#include <string>
#include <vector>

namespace wallheat {

/// How a process ends.
enum ExitStatus : int {
  exit_done = 0,
  exit_failed = 1,             ///< the run failed
  exit_usage = 2,              ///< wrong usage
  exit_some_plans_failed = 3,  ///< finished, but some plans failed
  exit_work_left = 75,         ///< stopped early: submit again to go on
};

using Arguments = std::vector<std::string>;

// One function a command; each returns an ExitStatus and throws UsageError or RunError.
int run_command(const Arguments& arguments);
int pack_command(const Arguments& arguments);
int solve_command(const Arguments& arguments);
int generate_command(const Arguments& arguments);
int export_command(const Arguments& arguments);
int summary_command(const Arguments& arguments);
int merge_command(const Arguments& arguments);
int repair_command(const Arguments& arguments);
int verify_command(const Arguments& arguments);
int devices_command(const Arguments& arguments);
int bench_command(const Arguments& arguments);
int status_command(const Arguments& arguments);
int solver_process_command(const Arguments& arguments);

/// The program: finds the command and turns what it throws into one sentence and an exit status.
int app_main(const Arguments& arguments);

}  // namespace wallheat
