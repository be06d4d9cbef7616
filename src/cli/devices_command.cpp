#include "bench/solver_bench.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "mpi/mpi_link.hpp"
#include "node/local_machine.hpp"
#include "queue/placement.hpp"
#include "solve/solver_options.hpp"
#include "view/devices_report.hpp"

namespace wallheat {

int devices_command(Options& options) {
  bool json = false;
  options.describe(
      "[--json]",
      "Shows what this machine offers to a run, within the cores that this process may "
      "use, what its processors could do at best, and how many generated plans a second "
      "each solver gets done here.",
      {"wallheat devices", "wallheat devices --json"});
  options.add("json", flag(json), "print one JSON object");
  options.parse();

  DevicesReport report;
  report.mpi = mpi_library();
  report.machine = local_machine();
  report.processor = local_processor();
  const Placement placement = place_workers({report.machine}, DeviceChoice::cpu, 0).front();
  report.threads = placement.threads.value_or(static_cast<int>(report.machine.cores.size()));
  if (placement.threads) report.thread_limit = placement.limit;
  report.isas = available_isas();
  for (const SolverKind kind : {SolverKind::jacobi, SolverKind::fastforward, SolverKind::steady}) {
    SolverOptions solver;
    solver.isa = report.isas.back();
    solver.kind = kind;
    report.solvers.push_back({kind, report.threads / measure_sample_plan_s(*solver.make())});
  }
  const GpuSupport support = gpu_support();
  for (const Gpu& gpu : support.gpus) report.gpus.push_back({gpu, gpu_properties(gpu.ordinal)});
  report.gpu_driver = gpu_driver();
  if (!support.can_solve) report.no_gpu = support.reason;
  if (json) {
    print_json(report);
  } else {
    print_text(report);
  }
  return exit_done;
}

}  // namespace wallheat
