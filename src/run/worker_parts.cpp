#include "run/worker_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "io/print_error.hpp"
#include "isolation/solver_pool.hpp"
#include "mpi/mpi_link.hpp"
#include "node/gpu_telemetry.hpp"
#include "node/local_machine.hpp"
#include "node/peak_memory.hpp"
#include "plans/plan_source.hpp"
#include "run/catalogue.hpp"
#include "run/signals.hpp"
#include "view/console.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// What the jobs of a worker are told.
JobSettings settings_for(const RunOptions& options, const std::string& host, std::string device) {
  JobSettings settings = options.job;
  settings.host = host;
  settings.device = std::move(device);
  return settings;
}

/// The threads of a CPU worker, with a child process each: one on each core, or fewer on all of
/// them, so that no core is crowded by others while they use another.
WorkerDevice open_cpu(const RunOptions& options, const std::string& host,
                      const Placement& placement) {
  const JobSettings settings = settings_for(options, host, options.job.solver.device_text());
  return {settings.device, threads_of(placement), [settings, placement](std::size_t thread) {
            const std::vector<int>& cpus = placement.cpus;
            bind_this_thread(placement.threads ? cpus : std::vector<int>{cpus.at(thread)});
            // Its child process inherits the binding.
            return ThreadParts{SolverPool(settings).job(), bound_cpus()};
          }};
}

/// Solves on a worker's cores what its GPU was to solve, once the GPU is given up.
class CpuFallback {
 public:
  CpuFallback(const RunOptions& options, const std::string& host, const std::vector<int>& cpus)
      : settings_(settings_for(options, host,
                               options.job.solver.device_text() + " (in place of a failed GPU)")) {
    settings_.lanes = static_cast<std::uint32_t>(cpus.size());
    settings_.cpus = cpus;
  }

  /// Once a job of the GPU's has thrown RunError, all go to the CPU.
  PlanResult solve(const PlanJob& on_gpu, const Task& task, const SolveControl& control) {
    if (!begun_) {
      try {
        return on_gpu(task, control);
      } catch (const SourceUnavailable&) {
        throw;
      } catch (const RunError& error) {
        if (!begun_.exchange(true))
          print_error("wallheat: on {}: {}; its plans are solved on the CPU", settings_.host,
                      error.what());
      }
    }
    std::call_once(start_, [this] { pool_.emplace(settings_); });
    return pool_->job()(task, control);
  }

 private:
  JobSettings settings_;
  std::atomic<bool> begun_ = false;
  std::once_flag start_;
  std::optional<SolverPool> pool_;
};

/// Begins to sample a worker's GPU once a second. Where that does not work, a warning says why,
/// once, and the run goes on without: solving needs no samples.
GpuSamples monitor_gpu(const Gpu& gpu, const std::string& log_level, const std::string& host) {
  // Rank 1 is the worker of a run without MPI.
  const auto console = std::make_shared<Console>(log_level, std::max(1, launched_rank()), host);
  constexpr std::chrono::seconds interval{1};
  try {
    const auto sampler = std::make_shared<GpuSampler>(GpuTelemetry(gpu.uuid), interval);
    return [sampler, console]() -> std::optional<GpuSample> {
      try {
        return sampler->take();
      } catch (const RunError& error) {
        console->warn("no more readings of the GPU: {}", error.what());
        return std::nullopt;
      }
    };
  } catch (const RunError& error) {
    console->warn("no readings of the GPU: {}", error.what());
    return {};
  }
}

/// The threads of a GPU worker: as many as the GPU wants plans at once, on all its cores, with one
/// child process for all. Throws RunError if the GPU cannot be used.
WorkerDevice open_gpu_worker(const RunOptions& options, const Machine& machine, int ordinal,
                             const std::vector<int>& cpus) {
  const auto gpu = std::find_if(machine.gpus.begin(), machine.gpus.end(),
                                [&](const Gpu& each) { return each.ordinal == ordinal; });
  if (gpu == machine.gpus.end()) throw RunError(fmt::format("there is no GPU {} here", ordinal));
  JobSettings settings = settings_for(options, machine.host, "gpu " + gpu->name);
  settings.solver.gpu = ordinal;
  settings.lanes = 0;
  settings.cpus = cpus;
  std::optional<SolverPool> pool;
  try {
    pool.emplace(settings);
  } catch (const RunError& error) {
    throw RunError(fmt::format("GPU {} ({}, {}) cannot be used: {}", ordinal, gpu->name, gpu->uuid,
                               error.what()));
  }
  const auto fallback = options.device == DeviceChoice::automatic
                            ? std::make_shared<CpuFallback>(options, machine.host, cpus)
                            : nullptr;
  const auto job = [on_gpu = pool->job(), fallback](const Task& task, const SolveControl& control) {
    return fallback ? fallback->solve(on_gpu, task, control) : on_gpu(task, control);
  };
  return {settings.device, pool->lanes(),
          [job, cpus](std::size_t) {
            bind_this_thread(cpus);
            return ThreadParts{job, bound_cpus()};
          },
          monitor_gpu(*gpu, options.log_level, machine.host)};
}

/// A GPU that cannot be used costs a worker that may do without it only the GPU.
WorkerDevice open_device(const RunOptions& options, const Machine& machine,
                         const Placement& placement) {
  if (!placement.gpu) return open_cpu(options, machine.host, placement);
  try {
    return open_gpu_worker(options, machine, *placement.gpu, placement.cpus);
  } catch (const RunError& error) {
    if (options.device != DeviceChoice::automatic)
      throw RunError(fmt::format("{}; --device cpu does without", error.what()));
    print_error("wallheat: on {}: {}; solving on the CPU instead", machine.host, error.what());
    return open_cpu(options, machine.host, placement);
  }
}

}  // namespace

WorkerParts worker_parts(const RunOptions& options) {
  WorkerParts parts;
  parts.machine = local_machine();
  if (!launched_by_mpi()) parts.machine.host_cores = 0;  // then the binding is meant
  parts.open = [options, machine = parts.machine](const Placement& placement) {
    return open_device(options, machine, placement);
  };
  parts.settings = options.settings();
  parts.sample = [data = options.job.data](const Task& plan) -> std::string {
    try {
      return plan_sample(*open_plan_source(data, Listing::if_needed), {plan.id, plan.places});
    } catch (const std::exception& error) {
      return error.what();
    }
  };
  parts.interrupted = stop_requested;
  parts.peak_memory = [peak = std::make_shared<PeakMemory>()] { return peak->bytes(); };
  parts.timeouts.worker_s = options.worker_timeout_s;
  return parts;
}

}  // namespace wallheat
