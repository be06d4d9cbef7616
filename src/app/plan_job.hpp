#pragma once

#include <filesystem>
#include <string>

#include "app/run_options.hpp"
#include "queue/task_pool.hpp"

namespace wallheat {

/// Fills the columns that follow from the answer: status, statistics, iterations, last delta.
void describe_solution(const FloorPlan& plan, const Solution& solution, PlanResult& result);

/// Where and how a worker's job runs; these facts go into each row.
struct JobSettings {
  std::filesystem::path data;  ///< for open_plan_source
  SolverOptions solver;
  bool save_fields = false;
  std::string host;
  std::string device;
};

/// A plan's row as far as it is known before it is solved; pending.
[[nodiscard]] PlanResult pending_result(const JobSettings& settings, const Task& task);

/// A job for one thread: reads a plan, hashes it, solves it, and summarises (and compresses) the
/// field. Throws RunError where the plans' source cannot be opened.
[[nodiscard]] PlanJob make_plan_job(const JobSettings& settings);

}  // namespace wallheat
