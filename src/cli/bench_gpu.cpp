#include "cli/bench_gpu.hpp"

#include <fmt/format.h>

#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "view/bench_report.hpp"

namespace wallheat {
namespace {

/// The cores that share the socket of the first.
std::vector<int> cpus_of_a_socket() {
  const Machine machine = local_machine();
  std::vector<int> cpus;
  for (const Core& core : machine.cores)
    if (core.socket == machine.cores.front().socket) cpus.push_back(core.cpu);
  return cpus;
}

}  // namespace

void bench_gpu(const SolverOptions& solver, const std::function<GpuBenchPlans()>& plans, bool quick,
               bool json) {
  const Gpu gpu = gpu_to_measure();
  const std::vector<int> cpus = cpus_of_a_socket();
  GpuBenchPlans given = plans();
  GpuBenchSettings settings;
  settings.limits = solver.limits;
  settings.most_in_flight = given.in_memory.size();
  settings.plans = std::move(given.in_memory);
  settings.files = std::move(given.files);
  settings.cpu_cores = cpus.size();
  settings.cpu_solver = [&](std::size_t thread) {
    bind_this_thread({cpus.at(thread)});
    return solver.make();
  };
  if (quick) settings.make_quick();
  settings.tell = [](const std::string& what) { print_error("measuring {}", what); };
  const GpuBench bench = measure_gpu(gpu, settings);
  if (json) {
    fmt::print("{}", to_json_text(bench));
  } else {
    fmt::print("{}", to_text(bench));
  }
}

}  // namespace wallheat
