#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "mpi/mpi_link.hpp"
#include "node/local_machine.hpp"
#include "queue/placement.hpp"
#include "view/devices_report.hpp"

namespace wallheat {

int devices_command(const Arguments& arguments) {
  bool json = false;
  Options options("devices [--json]",
                  "Shows what this machine offers to a run, within the cores that this process may "
                  "use, and what its processors and GPUs could do at best.");
  options.add("json", flag(json), "print one JSON object");
  if (!options.parse(arguments)) return exit_done;

  DevicesReport report;
  report.mpi = mpi_library();
  report.machine = local_machine();
  report.processor = local_processor();
  const Placement placement = place_workers({report.machine}, DeviceChoice::cpu, 0).front();
  report.threads = placement.threads.value_or(static_cast<int>(report.machine.cores.size()));
  if (placement.threads) report.thread_limit = placement.limit;
  report.isas = available_isas();
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
