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

/// Configuration of a solver process. The command line sets the members up to save_fields, the
/// worker sets the others.
struct SolveConfig {
  std::filesystem::path data;  ///< path for open_plan_source()
  SolverOptions solver;
  bool save_fields = false;
  std::string host;           ///< stored in each row
  std::string device;         ///< device type; stored in each row
  double plan_timeout_s = 0;  ///< longest time without progress of a plan; 0: unlimited
  std::uint32_t slots = 1;    ///< plans solved at the same time; 0: as many as keep the device busy
  std::vector<int>
      cpus{};  ///< CPUs to which all threads are bound; empty: the binding is inherited
};

[[nodiscard]] Bytes encode(const SolveConfig& settings);
/// Throws DecodeError if the bytes are not exactly one encoded SolveConfig.
[[nodiscard]] SolveConfig decode_solve_config(std::span<const std::byte> bytes);

/// Fills the columns that are computed from the solution: status, statistics, iterations, last
/// delta, error estimate and error bound; and the rooms, if `asked` requests them.
void fill_result(const FloorPlan& plan, const Solution& solution, const SolverOptions& asked,
                 PlanResult& result);

/// Solves one plan, and reports its progress to the SolveControl. A failure of the plan is returned
/// as a result. Throws DeviceFault if the device failed, BrokenProgram if the program of a solver
/// command must be replaced, and SourceUnavailable if the plan source cannot be read for now.
using TaskRunner = std::function<TaskResult(const Task&, const SolveControl&)>;

/// A slot of a solver process.
struct SolverSlot {
  std::int32_t number = 0;  ///< among the slots of the worker
  bool owns_process =
      true;  ///< it is the only slot, so the memory of the process is that of its plan
};

/// Returns a function that reads a plan, hashes it, solves it, computes the statistics of the
/// field, compresses the field if it is stored, and encodes the result. Use it in one thread.
[[nodiscard]] TaskRunner make_task_runner(const SolveConfig& settings, SharedPlanSource source,
                                          std::shared_ptr<Solver> solver, SolverSlot thread);

/// An open device, which the slots of a solver process share.
struct OpenDevice {
  std::size_t max_in_flight = 1;  ///< number of plans in progress that keep it busy
  std::function<TaskRunner(SolverSlot)> make_runner;
};

/// Opens the CPU or the GPU, as the settings specify. Throws RunError if the device cannot be used,
/// and SourceUnavailable if the plan source cannot be read for now.
[[nodiscard]] OpenDevice open_device(const SolveConfig& settings);
/// Opens the plan source only, and uses this GPU. Throws SourceUnavailable.
[[nodiscard]] OpenDevice open_device(const SolveConfig& settings,
                                     std::shared_ptr<GpuDevice> device);

}  // namespace wallheat
