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
struct JobSettings {
  std::filesystem::path data;  ///< for open_plan_source
  SolverOptions solver;
  bool save_fields = false;
  std::string host;  ///< this and the device go into each row
  std::string device;
  double plan_timeout_s = 0;  ///< the longest without progress; 0: for ever
  std::uint32_t lanes = 1;  ///< plans that it solves at a time; 0: as many as keep the device busy
  std::vector<int> cpus{};  ///< all threads are bound to these; empty: as the process is started
};

[[nodiscard]] Bytes encode(const JobSettings& settings);
/// Throws DecodeError if the bytes are no settings.
[[nodiscard]] JobSettings decode_settings(std::span<const std::byte> bytes);

/// Fills the columns that follow from the answer: status, statistics, iterations, last delta, what
/// is known of its error; and the rooms, if they are asked for.
void describe_solution(const FloorPlan& plan, const Solution& solution, const SolverOptions& asked,
                       PlanResult& result);

/// Solves one plan, and tells of its progress. What goes wrong with the plan is a result, too.
/// Throws DeviceFault if its solver does, and SourceUnavailable if plans cannot be read for the
/// time being.
using PlanJob = std::function<Result(const Task&, const SolveControl&)>;

/// The thread that solves a plan.
struct JobThread {
  std::int32_t number = 0;  ///< the worker's
  bool is_alone = true;     ///< in its process, whose memory is then its plan's
};

/// A job for one thread: reads a plan, hashes it, solves it, summarises (and compresses) the field,
/// and encodes its row.
[[nodiscard]] PlanJob make_plan_job(const JobSettings& settings, SharedPlanSource source,
                                    std::shared_ptr<Solver> solver, JobThread thread);

/// A device that is open, and the jobs that share it.
struct JobSource {
  std::size_t plans_at_once = 1;  ///< how many jobs keep it busy
  std::function<PlanJob(JobThread)> make_job;
};

/// Opens the CPU, or the GPU that the settings ask for. Throws RunError if it cannot be used, and
/// SourceUnavailable.
[[nodiscard]] JobSource open_jobs(const JobSettings& settings);
/// The jobs of this GPU.
[[nodiscard]] JobSource open_jobs(const JobSettings& settings, std::shared_ptr<GpuDevice> device);

}  // namespace wallheat
