#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "isolation/job_settings.hpp"
#include "plans/plan_source.hpp"
#include "queue/task_pool.hpp"
#include "solve/gpu/device.hpp"

namespace wallheat {

/// Solves a plan; an InputError of the solver gets the plan's name.
[[nodiscard]] std::optional<Solution> solve_plan(const std::string& id, const FloorPlan& plan,
                                                 Solver& solver, const Limits& limits,
                                                 const SolveControl& control);

/// Fills the columns that follow from the answer: status, statistics, iterations, last delta, what
/// is known of its error; and the rooms, if they are asked for.
void describe_solution(const FloorPlan& plan, const Solution& solution, const SolverOptions& asked,
                       PlanResult& result);

/// A plan's row as far as it is known before it is solved; pending.
[[nodiscard]] PlanResult pending_result(const JobSettings& settings, const Task& task);

/// A job for one thread: reads a plan, hashes it, solves it, and summarises (and compresses) the
/// field. It throws DeviceFault where its solver does. Where the source is away, the plan stays
/// pending, with the reason as its error.
[[nodiscard]] PlanJob make_plan_job(const JobSettings& settings, SharedPlanSource source,
                                    std::shared_ptr<Solver> solver);
/// The same with a source of its own and a solver for the CPU. Throws RunError if the source
/// cannot be opened.
[[nodiscard]] PlanJob make_plan_job(const JobSettings& settings);

/// A device that is open, and the jobs that share it.
struct JobSource {
  std::size_t plans_at_once = 1;      ///< so many jobs keep it busy
  std::function<PlanJob()> make_job;  ///< to be called by the thread that the job is for
};

/// Opens the CPU, or the GPU that the settings ask for. Throws RunError if it cannot be used.
[[nodiscard]] JobSource open_jobs(const JobSettings& settings);
/// The jobs of this GPU.
[[nodiscard]] JobSource open_jobs(const JobSettings& settings, std::shared_ptr<GpuDevice> device);

}  // namespace wallheat
