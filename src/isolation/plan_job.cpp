#include "isolation/plan_job.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>

#include "core/plan_hash.hpp"
#include "core/version.hpp"
#include "io/print_error.hpp"
#include "solve/trace.hpp"
#include "store/packs/plan_pack.hpp"
#include "store/results/field_codec.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Solves one plan into `result`; leaves it pending if stopped.
void solve_into(const JobSettings& settings, const PlanSource& source, Solver& solver,
                const SolveControl& control, PlanResult& result) {
  // The stamps come first: a file that changes while it is read is found changed by the next
  // resume.
  result.input_stamps = source.stamps(result.id);
  if (settings.save_fields) {  // before hours are spent on an answer that cannot be stored
    const auto reason = too_large_to_keep(source.shape(result.id));
    if (!reason.empty()) throw InputError(fmt::format("plan {}: {}", result.id, reason));
  }
  const FloorPlan plan = traced("read", [&] { return source.load(result.id); });
  result.input_hash = plan_hash(plan);
  const auto solution =
      traced("solve", [&] { return solver.solve(plan, settings.solver.limits, control); });
  if (!solution) return;
  const TraceRange summarise("summarise");
  describe_solution(plan, *solution, result);
  if (settings.save_fields) result.field = compress_field(solution->field);
}

}  // namespace

void describe_solution(const FloorPlan& plan, const Solution& solution, PlanResult& result) {
  result.rows = static_cast<std::uint32_t>(plan.domain.rows);
  result.cols = static_cast<std::uint32_t>(plan.domain.cols);
  result.interior_cells = count_interior(plan);
  result.statistics = statistics(solution.field, plan.interior);
  if (result.interior_cells == 0) {
    result.status = PlanStatus::empty;
    return;
  }
  result.status = solution.converged ? PlanStatus::converged : PlanStatus::max_iterations;
  result.iterations = solution.iterations;
  result.last_delta = solution.last_delta;
}

PlanResult pending_result(const JobSettings& settings, const Task& task) {
  PlanResult result;
  result.index = task.index;
  result.id = task.id;
  result.host = settings.host;
  result.device = settings.device;
  result.solver = fmt::format("jacobi {}", jacobi_version());
  return result;
}

PlanJob make_plan_job(const JobSettings& settings, SharedPlanSource source,
                      std::shared_ptr<Solver> solver) {
  return [settings, source = std::move(source), solver = std::move(solver)](
             const Task& task, const SolveControl& control) {
    const auto start = std::chrono::steady_clock::now();
    PlanResult result = pending_result(settings, task);
    try {
      solve_into(settings, *source, *solver, control, result);
    } catch (const DeviceFault&) {
      throw;  // no plan's fault, as far as can be told here
    } catch (const SourceUnavailable& away) {
      result.error = away.what();
      return result;  // pending
    } catch (const DeviceTooSmall& error) {
      result.error = fmt::format("plan {}: {}", task.id, error.what());
      result.may_pass = true;
    } catch (const std::bad_alloc&) {
      result.error = fmt::format("plan {}: there is not enough memory to solve it", task.id);
      result.may_pass = true;
    } catch (const std::exception& error) {
      result.error = error.what();
    }
    if (!result.error.empty()) result.status = PlanStatus::failed;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  };
}

PlanJob make_plan_job(const JobSettings& settings) {
  return make_plan_job(settings, open_plan_source(settings.data), settings.solver.make());
}

std::shared_ptr<GpuDevice> open_gpu_of_worker(int ordinal) {
  return open_gpu(ordinal,
                  [](const std::string& warning) { print_error("wallheat: {}", warning); });
}

JobSource open_jobs(const JobSettings& settings,
                    const std::function<std::shared_ptr<GpuDevice>(int)>& open) {
  if (!settings.solver.gpu) return {1, [settings] { return make_plan_job(settings); }};
  const SharedPlanSource source = open_plan_source(settings.data);
  const std::shared_ptr<GpuDevice> device = open(*settings.solver.gpu);
  return {device->plans_at_once(), [settings, source, device] {
            return make_plan_job(settings, source, device->make_solver());
          }};
}

}  // namespace wallheat
