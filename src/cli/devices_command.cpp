#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <tuple>

#include "bench/bench.hpp"
#include "cli/commands.hpp"
#include "core/program.hpp"
#include "core/text.hpp"
#include "mpi/mpi_environment.hpp"
#include "node/local_machine.hpp"
#include "node/placement.hpp"
#include "solve/gpu/device.hpp"
#include "solve/solver_options.hpp"

namespace wallheat {
namespace {

/// Converts 0 and empty strings, which the system reports for unknown values, to a missing value.
template <class T>
Value if_known(const T& value) {
  return value == T{} ? Value() : Value(value);
}

/// Returns the number of doubles in a vector register.
int doubles_a_vector(Isa isa) {
  if (isa == Isa::avx512) return 8;
  return isa == Isa::avx2 ? 4 : 2;  // SSE2, NEON
}

void add_processor(const Machine& machine, Report& report) {
  const Processor processor = local_processor();
  report.add_fact("processor", "processor", if_known(processor.model));
  report.add_json_fact("clock_hz", if_known(processor.clock_hz));
  for (const auto& [key, name, bytes, whose] :
       {std::tuple("l1d_cache_bytes", "L1d cache", processor.l1d_cache_bytes, " per core"),
        {"l2_cache_bytes", "L2 cache", processor.l2_cache_bytes, " per core"},
        {"l3_cache_bytes", "L3 cache", processor.l3_cache_bytes, ", shared"}})
    report.add_fact(key, name, if_known(bytes), {ValueFormat::bytes}, whose);
  const std::vector<Isa> isas = available_isas();
  std::string names;
  for (const Isa isa : isas) names += (names.empty() ? "" : " ") + std::string(to_string(isa));
  const std::string_view used = to_string(isas.back());
  const int doubles = doubles_a_vector(isas.back());
  report.add(
      Fact{"instruction_sets", "instruction sets", names, {}, fmt::format(" (used: {})", used)});
  report.add_json_fact("instruction_set", used);
  report.add_fact("vector_doubles", "vectors", doubles, {.unit = "doubles"});
  // One multiplication and one addition per SIMD lane and cycle.
  const double per_s =
      2.0 * static_cast<double>(machine.cores.size()) * processor.clock_hz * doubles;
  report.add(Fact{
      "fp64_tflops_one_vector_unit_per_core",
      "peak FP64",
      if_known(per_s * 1e-12),
      {ValueFormat::digits, 3, "TFLOP/s"},
      fmt::format(
          ": {} cores x {:.2f} GHz x {} doubles x 2, for one vector unit per core (many have two)",
          machine.cores.size(), processor.clock_hz * 1e-9, doubles)});
}

void add_cores(const Machine& machine, Report& report) {
  std::set<int> sockets;
  std::map<std::pair<int, int>, std::vector<int>> cpus_by_node;
  for (const Core& core : machine.cores) {
    sockets.insert(core.socket);
    cpus_by_node[{core.socket, core.numa}].push_back(core.cpu);
  }
  const bool all = static_cast<int>(machine.cores.size()) >= machine.host_cores;
  report.add(
      Fact{"cores",
           "cores",
           machine.cores.size(),
           {},
           all ? "" : fmt::format(" of {}: this process is bound to them", machine.host_cores)});
  report.add_json_fact("host_cores", if_known(machine.host_cores));
  report.add_fact("sockets", "sockets", sockets.size());
  Table& table = report.add(Table{
      "places",
      "cores by socket and NUMA node",
      {{"socket", "socket"}, {"numa", "NUMA node"}, {"cores", "cores"}, {"cpus", "CPU numbers"}}});
  for (const auto& [node, cpus] : cpus_by_node)
    table.rows.push_back(
        {node.first, node.second, cpus.size(), fmt::format("{}", fmt::join(cpus, " "))});
}

/// Adds the estimated throughput of each solver, which is measured on one thread.
void add_solvers(int threads, Report& report) {
  Table& table = report.add(Table{
      "solvers",
      fmt::format(
          "plans of {0} x {0} cells on {1}, extrapolated from one plan; GPUs support jacobi only",
          sample_grid_size, count_text(static_cast<std::size_t>(threads), "thread")),
      {{"solver", "solver"}, {"plans_per_s", "plans/s", {ValueFormat::digits, 4}}}});
  for (const SolverKind kind : solver_kinds) {
    SolverOptions solver;
    solver.isa = available_isas().back();
    solver.kind = kind;
    table.rows.push_back({to_string(kind), threads / measure_sample_plan_s(*solver.make())});
  }
}

void add_gpus(const GpuSupport& support, Report& report) {
  Table& table =
      report.add(Table{"gpus",
                       "GPUs",
                       {{"ordinal", "GPU"},
                        {"name", "name"},
                        {"memory_bytes", "memory", {ValueFormat::bytes}},
                        {"numa", "NUMA node"},
                        {"compute_capability", "capability"},
                        {"multiprocessors", "multiprocessors"},
                        {"clock_ghz", "clock", {ValueFormat::decimals, 2, "GHz"}},
                        {"memory_tb_per_s", "memory", {ValueFormat::decimals, 2, "TB/s"}},
                        {"uuid", "UUID"}}});
  for (const Gpu& gpu : support.gpus) {
    const GpuProperties properties = gpu_properties(gpu.ordinal);
    const int capability = properties.capability;
    table.rows.push_back(
        {gpu.ordinal, gpu.name, gpu.memory_bytes, gpu.numa < 0 ? Value() : Value(gpu.numa),
         capability == 0 ? Value() : Value(fmt::format("{}.{}", capability / 10, capability % 10)),
         if_known(properties.multiprocessors), if_known(properties.clock_hz / 1e9),
         if_known(properties.memory_bytes_per_second / 1e12), gpu.uuid});
  }
}

}  // namespace

Report devices_command(Options& options) {
  options.describe("[options]",
                   "Shows the cores that a run may use here, their peak performance, the GPUs, and "
                   "the throughput of each solver in generated plans per second.",
                   {"wallheat devices", "wallheat devices --json"});
  options.parse();

  const Machine machine = local_machine();
  const Placement placement = place_workers({machine}, DeviceChoice::cpu, 0).front();
  const int threads = placement.threads.value_or(static_cast<int>(machine.cores.size()));
  const GpuSupport gpus = gpu_support();
  Report report{machine.host};
  report.add_fact("host", "host", machine.host);
  report.add_fact("wallheat", "wallheat", version());
  report.add_fact("mpi", "MPI", mpi_library());
  add_processor(machine, report);
  // A quota may limit the threads further than the job does.
  const std::string& source = placement.core_limit_reason.empty() || !placement.threads
                                  ? placement.thread_count_source
                                  : placement.core_limit_reason;
  report.add_fact("threads", "threads of a run", threads, {}, source.empty() ? "" : ": " + source);
  report.add_json_fact("threads_source", if_known(source));
  report.add_fact("gpu_driver_cuda", "GPU driver for CUDA", if_known(gpu_driver()));
  report.add_fact("no_gpu", "GPUs not used", if_known(gpus.reason));
  add_cores(machine, report);
  add_solvers(threads, report);
  add_gpus(gpus, report);
  return report;
}

}  // namespace wallheat
