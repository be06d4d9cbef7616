#pragma once

#include "cli/options.hpp"
#include "core/program.hpp"
#include "report/report.hpp"

namespace wallheat {

struct RunOptions;

// One function per command. It declares and parses its options, and returns a report, or prints its
// output and returns an ExitStatus. These functions throw UsageError, RunError and Options::Done.
Report whatif_command(Options& options);
Report need_command(Options& options);
int run_command(Options& options);
Report solve_command(Options& options);
Report generate_command(Options& options);
int export_command(Options& options);
Report list_command(Options& options);
Report plot_command(Options& options);
Report advise_command(Options& options);
Report offload_command(Options& options);
Report page_command(Options& options);
Report queue_command(Options& options);
Report trace_command(Options& options);
Report summary_command(Options& options);
Report scaling_command(Options& options);
Report compare_command(Options& options);
Report merge_command(Options& options);
Report repair_command(Options& options);
Report verify_command(Options& options);
Report devices_command(Options& options);
Report bench_command(Options& options);
Report monitor_command(Options& options);
Report status_command(Options& options);

/// Parses the options of 'wallheat run'. Throws UsageError.
[[nodiscard]] RunOptions parse_run_options(Options& options);
/// Parses the options of 'wallheat run' for a command that plans the complete campaign: without a
/// shard or a deadline, whatever job this process belongs to. Throws UsageError, also if the
/// options choose a shard.
[[nodiscard]] RunOptions parse_campaign_options(Options& options);

/// Runs the program: finds the command, calls it, and converts exceptions to an error message and
/// an exit status.
int app_main(const Arguments& arguments);

}  // namespace wallheat
