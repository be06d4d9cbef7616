#include "isolation/task_runner.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "core/cell_statistics.hpp"
#include "core/codec.hpp"
#include "core/members.hpp"
#include "core/system_limits.hpp"
#include "core/threads.hpp"
#include "io/deflate.hpp"
#include "io/standard_streams.hpp"
#include "isolation/command_solver.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "store/field_codec.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

WALLHEAT_MEMBERS(WallOverride, nominal, temperature);
WALLHEAT_MEMBERS(Door, cells);
WALLHEAT_MEMBERS(SolveParameters, tolerance, max_iterations, accuracy, norm, spacing);
WALLHEAT_MEMBERS(Thresholds, above, below);
WALLHEAT_MEMBERS(SolverCommand, line, words, files, version, is_deterministic, cores_per_slot,
                 slots_per_gpu, memory_gb, environment, open_files);
WALLHEAT_MEMBERS(SolverOptions, limits, backend, isa, gpu, kind, command, spacing_is_known, walls,
                 thresholds, door);
WALLHEAT_MEMBERS(SolveConfig, data, solver, save_fields, host, device, plan_timeout_s, slots, cpus);

Bytes encode(const SolveConfig& settings) { return to_bytes(settings); }

SolveConfig decode_solve_config(std::span<const std::byte> bytes) {
  return from_bytes<SolveConfig>(bytes);
}

namespace {

/// Measures the time from one call to the next.
class Stopwatch {
 public:
  float seconds() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<float> passed = now - std::exchange(last_, now);
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Moves the times of a solver command from the solve to the phases to which they belong.
void add_times(const CommandSolver::Times& times, PhaseTimes& phases) {
  phases.solve_s = static_cast<float>(times.solve_s);
  phases.read_s += static_cast<float>(times.write_s);
  phases.statistics_s += static_cast<float>(times.judge_s);
}

/// Solves one plan and fills `result`. Returns the hash of the field if the field is stored,
/// otherwise 0.
std::uint64_t solve_into(const SolveConfig& settings, const PlanSource& source, Solver& solver,
                         const PlanKey& key, const SolveControl& control, PlanResult& result) {
  // The stamp is read first, so that the next resume detects a file that changed while it was read.
  result.input_stamp = source.stamp(key);
  // Reject a field that cannot be stored before it takes hours to solve the plan.
  if (settings.save_fields) {
    const auto reason = field_size_error(source.shape(key));
    if (!reason.empty()) throw InputError(reason);
  }
  Stopwatch stopwatch;
  FloorPlan plan = source.load(key);
  result.phases.read_s = stopwatch.seconds();
  result.input_hash = plan_hash(plan);
  result.phases.hash_s = stopwatch.seconds();
  apply_wall_overrides(plan, settings.solver.walls);
  auto* const command = dynamic_cast<CommandSolver*>(&solver);
  if (command != nullptr) command->begin_plan(key.id);
  const auto solution = solver.solve(plan, settings.solver.limits, control);
  result.phases.solve_s = stopwatch.seconds();
  if (!solution) throw RunError("internal error: a solver stopped without a request");
  fill_result(plan, *solution, settings.solver, result);
  result.phases.statistics_s = stopwatch.seconds();
  if (command != nullptr) add_times(command->times(), result.phases);
  std::uint64_t hash = 0;
  if (settings.save_fields) {
    attach_field(result, solution->field);
    hash = crc32_of(std::as_bytes(std::span(solution->field.cells)));
  }
  result.phases.compress_s = stopwatch.seconds();
  return hash;
}

/// Fills the columns that count the cells whose side of a threshold is uncertain.
void fill_uncertain_counts(const UncertainCounts& uncertain, PlanResult& result) {
  result.uncertain_cells = static_cast<std::uint32_t>(uncertain.cells);
  const std::int64_t cells = result.interior_cells;
  result.pct_above_lower = percent_of(uncertain.min_above, cells);
  result.pct_above_upper = percent_of(uncertain.max_above, cells);
  result.pct_below_lower = percent_of(uncertain.min_below, cells);
  result.pct_below_upper = percent_of(uncertain.max_below, cells);
}

/// Returns the row of a plan with the columns that are known before it is solved. Its status is
/// pending.
PlanResult pending_row(const SolveConfig& settings, const Task& task, SolverSlot thread) {
  PlanResult row;
  row.id = task.id;
  row.host = settings.host;
  row.device = settings.device;
  row.solver = settings.solver.solver_text();
  row.thread = thread.number;
  return row;
}

TaskResult encoded(QueueIndex plan, const PlanResult& row, TaskResult::Kind kind,
                   std::uint64_t field_hash) {
  return {plan, kind, row.seconds, hash_result(row, field_hash), encode_result(row)};
}

}  // namespace

void fill_result(const FloorPlan& plan, const Solution& solution, const SolverOptions& asked,
                 PlanResult& result) {
  result.rows = static_cast<std::uint32_t>(plan.domain.rows);
  result.cols = static_cast<std::uint32_t>(plan.domain.cols);
  const std::vector<double> values = interior_values(solution.field, plan.interior);
  result.interior_cells = static_cast<std::int64_t>(values.size());
  const CellSummary summary = summarize_cells(values, asked.thresholds, solution.uncertainty);
  result.statistics = summary.statistics;
  if (result.interior_cells == 0) {
    result.status = PlanStatus::empty;
    return;
  }
  result.status = !solution.is_convergence_known ? PlanStatus::convergence_unknown
                  : solution.converged           ? PlanStatus::converged
                                                 : PlanStatus::max_iterations;
  result.iterations = solution.iterations;
  result.last_delta = solution.last_delta;
  result.error_bound = solution.error_bound;
  result.error_estimate = solution.error_estimate;
  result.fell_back = solution.fell_back ? 1 : 0;
  if (solution.uncertainty != 0) fill_uncertain_counts(summary.uncertain, result);
  if (!asked.door) return;
  const std::uint32_t door = asked.door->of({plan.interior.rows, plan.interior.cols});
  result.rooms = room_results(map_rooms(plan.interior, door), solution.field, asked.thresholds);
}

TaskRunner make_task_runner(const SolveConfig& settings, SharedPlanSource source,
                            std::shared_ptr<Solver> solver, SolverSlot thread) {
  return [settings, source = std::move(source), solver = std::move(solver), thread](
             const Task& task, const SolveControl& control) {
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start_s = thread_cpu_seconds();
    // The peak includes memory that the process retains from earlier plans. Returning that memory
    // to the system first would take a third of the time of a plan of 96 x 96 cells.
    const bool of_this_plan = thread.owns_process && reset_peak_memory();
    PlanResult row = pending_row(settings, task, thread);
    std::uint64_t field_hash = 0;
    auto kind = TaskResult::Kind::solved;
    const auto fail = [&](TaskResult::Kind how, std::string why) {
      kind = how;
      row.status = PlanStatus::failed;
      row.error = std::move(why);
    };
    try {
      field_hash =
          solve_into(settings, *source, *solver, {task.id, task.entry_offsets}, control, row);
    } catch (const DeviceFault&) {
      throw;  // the worker decides whether a plan is the cause
    } catch (const BrokenProgram&) {
      throw;  // the worker replaces this process: the start of a program counts against no plan
    } catch (const SourceUnavailable&) {
      throw;  // not a failure of the plan
    } catch (const DeviceTooSmall& error) {
      fail(TaskResult::Kind::retryable, error.what());
    } catch (const CommandFailure& error) {
      fail(TaskResult::Kind::retryable, error.what());
    } catch (const std::bad_alloc&) {
      fail(TaskResult::Kind::retryable, "not enough memory to solve it" + limit_note(ENOMEM));
    } catch (const InputSystemError& error) {
      fail(TaskResult::Kind::host_error, error.what());
    } catch (const std::system_error& error) {  // for example, a thread cannot be started
      fail(TaskResult::Kind::host_error, exception_text(error));
    } catch (const std::exception& error) {
      fail(TaskResult::Kind::failed, error.what());
    }
    row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool is_here = settings.solver.kind != SolverKind::command;
    if (is_here) row.cpu_s = thread_cpu_seconds() - cpu_start_s;
    if (is_here && of_this_plan) row.peak_memory = peak_memory();
    try {
      TaskResult result = encoded(task.plan, row, kind, field_hash);
      if (kind != TaskResult::Kind::failed) result.error = row.error;
      if (const auto* gpu = dynamic_cast<const GpuSolver*>(solver.get()))
        result.gpu_times = gpu->times();
      if (const auto* command = dynamic_cast<const CommandSolver*>(solver.get()))
        result.program_start_s = command->times().start_s;
      return result;
    } catch (const std::bad_alloc&) {
      row = pending_row(settings, task, thread);
      fail(TaskResult::Kind::retryable, "not enough memory for its result" + limit_note(ENOMEM));
      return encoded(task.plan, row, kind, 0);
    }
  };
}

OpenDevice open_device(const SolveConfig& settings) {
  if (settings.solver.gpu) {
    const auto warn = [](const std::string& warning) { print_error("wallheat: {}", warning); };
    return open_device(settings, open_gpu(*settings.solver.gpu, warn));
  }
  return {1, [settings,
              source = open_plan_source(settings.data, ListingMode::lazy)](SolverSlot thread) {
            return make_task_runner(settings, source, make_solver(settings.solver), thread);
          }};
}

OpenDevice open_device(const SolveConfig& settings, std::shared_ptr<GpuDevice> device) {
  const SharedPlanSource source = open_plan_source(settings.data, ListingMode::lazy);
  return {device->plans_at_once(), [settings, source, device](SolverSlot thread) {
            return make_task_runner(settings, source, device->make_solver(), thread);
          }};
}

}  // namespace wallheat
