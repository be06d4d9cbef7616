#include "run/worker_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/program.hpp"
#include "core/system_limits.hpp"
#include "core/text.hpp"
#include "mpi/mpi_environment.hpp"
#include "node/gpu_telemetry.hpp"
#include "node/local_machine.hpp"
#include "node/placement.hpp"
#include "plans/plan_source.hpp"
#include "run/plan_selection.hpp"
#include "run/run_options.hpp"
#include "run/stop_signals.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the first option that differs: "its --tolerance is 1e-3, but rank 0's is 1e-4"; an empty
/// string if none does.
std::string difference_between(const std::map<std::string, std::string>& own,
                               const std::map<std::string, std::string>& others) {
  for (const auto& [name, value] : own)
    if (const auto other = others.find(name); other == others.end() || other->second != value)
      return fmt::format("its --{} is {}, but rank 0's is {}", name, value,
                         other == others.end() ? "not given" : other->second);
  for (const auto& [name, value] : others)
    if (!own.contains(name))
      return fmt::format("its --{} is not given, but rank 0's is {}", name, value);
  return "";
}

std::string difference(const RunOptions& options, const Setup& setup) {
  if (setup.version != version())
    return fmt::format("its version of wallheat is {}, but rank 0's is {}", version(),
                       setup.version);
  if (std::string found = difference_between(options.settings, setup.settings); !found.empty())
    return found;
  try {
    return source_difference(*open_plan_source(options.solve.data, ListingMode::lazy),
                             setup.source);
  } catch (const std::exception& error) {
    return fmt::format("it cannot read the plans: {}", error.what());
  }
}

WorkerProperties properties_of(const Machine& machine, const Placement& placement,
                               std::string device) {
  return {.host = machine.host,
          .device = std::move(device),
          .shares_cores = placement.shares_cores,
          .no_gpu_reason = placement.no_gpu_reason,
          .core_limit_reason = placement.core_limit_reason,
          .thread_count_source = placement.thread_count_source};
}

/// Returns the settings of a solver process of a worker.
SolveConfig settings_for(const RunOptions& options, const WorkerProperties& worker,
                         std::vector<int> cpus) {
  SolveConfig settings = options.solve;
  settings.host = worker.host;
  settings.device = worker.device;
  settings.cpus = std::move(cpus);
  return settings;
}

/// Returns a device with one solver process bound to each core, or to several cores with
/// --cores-per-slot. With fewer processes than cores, each may use all cores, so that none has to
/// share a core while another core is idle. Throws RunError if there are too few cores for a slot.
WorkerDevice cores(const RunOptions& options, const Machine& machine, const Placement& placement,
                   const std::string& remark = "") {
  WorkerDevice device;
  device.properties =
      properties_of(machine, placement, options.solve.solver.device_text() + remark);
  const auto per_slot = static_cast<std::size_t>(options.solve.solver.command.cores_per_slot);
  const std::size_t count = solver_count(placement) / per_slot;
  if (count == 0)
    throw RunError(fmt::format("--cores-per-slot {}: this worker on {} has {} only", per_slot,
                               machine.host, count_text(solver_count(placement), "core")));
  for (std::size_t k = 0; k < count; ++k) {
    const auto first = placement.cpus.begin() + static_cast<std::ptrdiff_t>(k * per_slot);
    device.processes.push_back(
        settings_for(options, device.properties,
                     placement.threads
                         ? placement.cpus
                         : std::vector<int>(first, first + static_cast<std::ptrdiff_t>(per_slot))));
  }
  return device;
}

/// Starts to sample a worker's GPU once per second. If that fails, logs one warning, and the run
/// continues without samples, which solving does not need. Returns the function that takes the
/// latest sample.
std::function<std::optional<GpuSample>()> monitor_gpu(const Gpu& gpu, const std::string& log_level,
                                                      const std::string& host) {
  const int rank = launched_rank();  // 0 without MPI
  const auto console =
      std::make_shared<Console>(log_level, rank > 0 ? fmt::format("rank {} {}", rank, host) : "");
  constexpr std::chrono::seconds interval{1};
  try {
    const auto sampler = std::make_shared<GpuSampler>(GpuTelemetry(gpu.uuid), interval);
    return [sampler, console]() -> std::optional<GpuSample> {
      try {
        return sampler->take_latest();
      } catch (const RunError& error) {
        console->warn("GPU samples ended: {}", error.what());
        return std::nullopt;
      }
    };
  } catch (const RunError& error) {
    console->warn("no GPU samples available: {}", error.what());
    return {};
  }
}

/// Returns a device with one solver process for all plans, which may use all cores of the worker.
/// It has as many slots as the GPU solves plans efficiently at the same time. A solver command has
/// one solver process per slot.
WorkerDevice gpu(const RunOptions& options, const Machine& machine, const Placement& placement) {
  const auto found = std::ranges::find(machine.gpus, *placement.gpu, &Gpu::ordinal);
  WorkerDevice device;
  device.properties = properties_of(machine, placement, "gpu " + found->name);
  device.properties.gpu = *found;
  SolveConfig settings = settings_for(options, device.properties, placement.cpus);
  if (settings.solver.kind == SolverKind::command) {
    // CUDA is left to the program.
    settings.solver.command.environment.push_back("CUDA_VISIBLE_DEVICES=" + found->uuid);
    device.processes.assign(static_cast<std::size_t>(settings.solver.command.slots_per_gpu),
                            settings);
  } else {
    settings.solver.gpu = *placement.gpu;
    settings.slots = 0;
    device.processes.push_back(std::move(settings));
  }
  device.take_gpu_sample = monitor_gpu(*found, options.log_level, machine.host);
  return device;
}

/// Returns the devices of a worker: its GPU, then the CPU as a fallback unless `--device gpu` is
/// set; or the CPU alone.
std::vector<WorkerDevice> open_devices(const RunOptions& options,
                                       const std::vector<Machine>& machines, std::size_t mine) {
  const auto all =
      place_workers(machines, options.device, options.threads, launcher_may_bind_cores());
  const Placement& placement = all.at(mine);
  const Machine& machine = machines.at(mine);
  if (!placement.gpu) return {cores(options, machine, placement)};
  std::vector<WorkerDevice> devices{gpu(options, machine, placement)};
  if (options.device == DeviceChoice::automatic)
    devices.push_back(cores(options, machine, placement, " (in place of a failed GPU)"));
  return devices;
}

}  // namespace

WorkerContext worker_context(const RunOptions& options, const Timeouts& timeouts,
                             const std::vector<Machine>& machines, std::size_t mine) {
  WorkerContext context;
  context.host = machines.at(mine).host;
  context.find_mismatch = [&options](const Setup& setup) { return difference(options, setup); };
  context.open_devices = [&options, machines, mine] {
    return open_devices(options, machines, mine);
  };
  context.interrupted = stop_requested;
  const auto is_on_host = [&](const Machine& other) { return other.host == context.host; };
  const bool is_first_of_host = std::none_of(
      machines.begin(), machines.begin() + static_cast<std::ptrdiff_t>(mine), is_on_host);
  context.program = find_solver_program(is_first_of_host);
  context.heartbeat_interval_s = timeouts.heartbeat_interval_s();
  context.heartbeat_timeout_s = timeouts.rank0_timeout_s();
  return context;
}

}  // namespace wallheat
