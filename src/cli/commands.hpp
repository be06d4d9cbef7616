#pragma once

#include "cli/arguments.hpp"
#include "core/exit_status.hpp"

namespace wallheat {

// One function a command; each returns an ExitStatus and throws UsageError or RunError.
int whatif_command(const Arguments& arguments);
int need_command(const Arguments& arguments);
int run_command(const Arguments& arguments);
int solve_command(const Arguments& arguments);
int generate_command(const Arguments& arguments);
int export_command(const Arguments& arguments);
int list_command(const Arguments& arguments);
int plot_command(const Arguments& arguments);
int advise_command(const Arguments& arguments);
int offload_command(const Arguments& arguments);
int queue_command(const Arguments& arguments);
int rooms_command(const Arguments& arguments);
int report_command(const Arguments& arguments);
int trace_command(const Arguments& arguments);
int summary_command(const Arguments& arguments);
int scaling_command(const Arguments& arguments);
int compare_command(const Arguments& arguments);
int merge_command(const Arguments& arguments);
int repair_command(const Arguments& arguments);
int verify_command(const Arguments& arguments);
int devices_command(const Arguments& arguments);
int bench_command(const Arguments& arguments);
int monitor_command(const Arguments& arguments);
int status_command(const Arguments& arguments);

/// The program: finds the command and turns what it throws into one sentence and an exit status.
int app_main(const Arguments& arguments);

}  // namespace wallheat
