#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/codec.hpp"
#include "plans/plan_source.hpp"
#include "queue/messages.hpp"
#include "solve/gpu/device.hpp"
#include "solve/solver_options.hpp"

namespace wallheat {

/// What a solver process has to know: the command line fills the first part, a worker the second,
/// and a solver process gets it all.
struct SolveConfig {
  std::filesystem::path data;  ///< for open_plan_source
  SolverOptions solver;
  bool save_fields = false;
  std::string host;  ///< this and the device go into each row
  std::string device;
  double plan_timeout_s = 0;  ///< the longest without progress; 0: for ever
  std::uint32_t slots = 1;  ///< plans that it solves at a time; 0: as many as keep the device busy
  std::vector<int> cpus{};  ///< all threads are bound to these; empty: as the process is started
};

[[nodiscard]] Bytes encode(const SolveConfig& settings);
/// Throws DecodeError if the bytes are no settings.
[[nodiscard]] SolveConfig decode_solve_config(std::span<const std::byte> bytes);

/// Fills the columns that follow from the answer: status, statistics, iterations, last delta, what
/// is known of its error; and the rooms, if they are asked for.
void fill_result(const FloorPlan& plan, const Solution& solution, const SolverOptions& asked,
                 PlanResult& result);

/// Solves one plan, and tells of its progress. What goes wrong with the plan is a result, too.
/// Throws DeviceFault if its solver does, and SourceUnavailable if plans cannot be read for the
/// time being.
using TaskRunner = std::function<TaskResult(const Task&, const SolveControl&)>;

/// The thread that solves a plan.
struct SolverSlot {
  std::int32_t number = 0;   ///< the worker's
  bool owns_process = true;  ///< in its process, whose memory is then its plan's
};

/// A job for one thread: reads a plan, hashes it, solves it, summarises (and compresses) the field,
/// and encodes its row.
[[nodiscard]] TaskRunner make_task_runner(const SolveConfig& settings, SharedPlanSource source,
                                          std::shared_ptr<Solver> solver, SolverSlot thread);

/// A device that is open, and the jobs that share it.
struct OpenDevice {
  std::size_t max_in_flight = 1;  ///< how many jobs keep it busy
  std::function<TaskRunner(SolverSlot)> make_job;
};

/// Opens the CPU, or the GPU that the settings ask for. Throws RunError if it cannot be used, and
/// SourceUnavailable.
[[nodiscard]] OpenDevice open_device(const SolveConfig& settings);
/// The jobs of this GPU.
[[nodiscard]] OpenDevice open_device(const SolveConfig& settings,
                                     std::shared_ptr<GpuDevice> device);

}  // namespace wallheat
