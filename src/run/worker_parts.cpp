#include "run/worker_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "isolation/solver_pool.hpp"
#include "mpi/mpi_link.hpp"
#include "node/local_machine.hpp"
#include "run/catalogue.hpp"
#include "run/gpu_monitor.hpp"
#include "run/signals.hpp"
#include "store/packs/plan_pack.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// The threads of a CPU worker, with a child process each: one on each core, or fewer on all of
/// them, so that no core is crowded by others while they use another.
WorkerDevice open_cpu(const RunOptions& options, const std::string& host,
                      const Placement& placement) {
  const JobSettings settings{options.data, options.solver, options.save_fields, host,
                             options.solver.device_text()};
  const std::chrono::duration<double> plan_timeout{options.plan_timeout_s};
  const std::size_t threads = placement.threads ? *placement.threads : placement.cpus.size();
  return {settings.device, threads, [settings, plan_timeout, placement](std::size_t thread) {
            const std::vector<int>& cpus = placement.cpus;
            bind_this_thread(placement.threads ? cpus : std::vector<int>{cpus.at(thread)});
            // Its child process inherits the binding.
            return ThreadParts{make_isolated_job(settings, plan_timeout), bound_cpus()};
          }};
}

/// The threads of a GPU worker: as many as the GPU wants plans at once, on all its cores, with one
/// child process for all.
WorkerDevice open_gpu_worker(const RunOptions& options, const Machine& machine, int ordinal,
                             const std::vector<int>& cpus) {
  SolverOptions solver = options.solver;
  solver.gpu = ordinal;
  const auto gpu = std::find_if(machine.gpus.begin(), machine.gpus.end(),
                                [&](const Gpu& each) { return each.ordinal == ordinal; });
  if (gpu == machine.gpus.end()) throw RunError(fmt::format("there is no GPU {} here", ordinal));
  const JobSettings settings{options.data, solver, options.save_fields, machine.host,
                             "gpu " + gpu->name};
  const std::chrono::duration<double> plan_timeout{options.plan_timeout_s};
  std::shared_ptr<SolverPool> shared;
  try {
    shared = std::make_shared<SolverPool>(settings, plan_timeout, 0, cpus);
  } catch (const RunError& error) {
    throw RunError(fmt::format("GPU {} ({}, {}) cannot be used: {}; --device cpu does without",
                               ordinal, gpu->name, gpu->uuid, error.what()));
  }
  return {settings.device, shared->lanes(),
          [shared, cpus](std::size_t thread) {
            bind_this_thread(cpus);
            return ThreadParts{shared->job(thread), bound_cpus()};
          },
          monitor_gpu(*gpu, options.log_level, machine.host)};
}

}  // namespace

WorkerParts worker_parts(const RunOptions& options) {
  WorkerParts parts;
  parts.machine = local_machine();
  if (!launched_by_mpi()) parts.machine.host_cores = 0;  // then the binding is meant
  parts.open = [options, machine = parts.machine](const Placement& placement) {
    return placement.gpu ? open_gpu_worker(options, machine, *placement.gpu, placement.cpus)
                         : open_cpu(options, machine.host, placement);
  };
  parts.terms = options.terms();
  parts.sample = [data = options.data](const std::string& id) -> std::string {
    try {
      return plan_sample(*open_plan_source(data), id);
    } catch (const std::exception& error) {
      return error.what();
    }
  };
  parts.interrupted = stop_requested;
  parts.timeouts.worker_s = options.worker_timeout_s;
  return parts;
}

}  // namespace wallheat
