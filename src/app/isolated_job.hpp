#pragma once

#include <chrono>
#include <filesystem>

#include "app/commands.hpp"
#include "app/plan_job.hpp"

namespace wallheat {

/// The program that solves for an isolated job: it calls serve_plans.
struct SolverProgram {
  std::filesystem::path file = "/proc/self/exe";
  Arguments arguments = {"solver-process"};
};

/// A job like make_plan_job's that solves in a child process, so that a plan that kills its solver
/// costs the plan and not the worker. Where the child dies, or makes no progress for `plan_timeout`
/// (0: never too long), the plan fails, may pass another time, and a new child stands ready for the
/// next.
///
/// To be made, used and destroyed by one thread: the child ends with the thread that started it.
/// Throws RunError where no child can be started. Unlike other jobs it also throws RunError from a
/// call, with the plan untouched, where after several tries no new child comes up.
[[nodiscard]] PlanJob make_isolated_job(const JobSettings& settings,
                                        std::chrono::duration<double> plan_timeout,
                                        const SolverProgram& program = {});

}  // namespace wallheat
