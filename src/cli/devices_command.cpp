#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "core/version.hpp"
#include "mpi/mpi_link.hpp"
#include "node/local_machine.hpp"
#include "queue/placement.hpp"
#include "solve/gpu/device.hpp"
#include "view/terminal.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

int devices_command(const Arguments& arguments) {
  Options options(
      "devices",
      "Shows what this machine offers to a run, within the cores that this process may use.");
  if (!options.parse(arguments)) return exit_done;

  constexpr std::size_t column = 18;  // where the facts stand
  const Machine machine = local_machine();
  fmt::print("host              {}\n", machine.host);
  fmt::print("wallheat          {}\n", version());
  print_line(fmt::format("MPI               {}", mpi_library()), column);

  std::map<std::pair<int, int>, std::string> places;
  for (const Core& core : machine.cores)
    places[{core.socket, core.numa}] += fmt::format(" {}", core.cpu);
  fmt::print("cores             {}\n", machine.cores.size());
  const auto bound = static_cast<int>(machine.cores.size());
  if (bound < machine.host_cores)
    fmt::print("  of {}: this process was bound to them\n", machine.host_cores);
  for (const auto& [place, cpus] : places) {
    print_line(fmt::format("  socket {}, NUMA node {}: cpu{}", place.first, place.second, cpus),
               column);
  }

  const Placement placement = place_workers({machine}, DeviceChoice::cpu, 0).front();
  fmt::print("threads           {}\n", placement.threads.value_or(bound));
  if (placement.threads) fmt::print("  {}\n", placement.limit);

  std::string isas;
  for (const Isa isa : available_isas()) isas += fmt::format("{} ", to_string(isa));
  fmt::print("instruction sets  {}(used: {})\n", isas, to_string(available_isas().back()));

  const GpuSupport support = gpu_support();
  fmt::print("GPUs              {}\n", support.gpus.size());
  for (const Gpu& gpu : support.gpus) {
    print_line(fmt::format("  {}: {}, {}, {:.0f} GiB, NUMA node {}", gpu.ordinal, gpu.name,
                           gpu.uuid, static_cast<double>(gpu.memory_bytes) / (1 << 30), gpu.numa),
               column);
  }
  if (!support.can_solve) print_line("  not used: " + support.reason, column);
  return exit_done;
}

}  // namespace wallheat
