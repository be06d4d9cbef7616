#include "run/work_estimator.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "node/placement.hpp"
#include "plans/plan_source.hpp"
#include "plans/work_estimate.hpp"
#include "queue/duration_model.hpp"
#include "run/plan_selection.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

WorkEstimator::WorkEstimator(SharedPlanSource source, std::size_t plans,
                             std::function<std::string(QueueIndex plan)> id_of,
                             const SolveParameters& limits, SolverKind solver)
    : source_(std::move(source)),
      plans_(plans),
      id_of_(std::move(id_of)),
      limits_(limits),
      solver_(solver),
      reader_([this](const std::stop_token& stop) { read_all(stop); }) {}

std::vector<std::pair<QueueIndex, double>> WorkEstimator::take_new() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(ready_, {});
}

void WorkEstimator::read_all(const std::stop_token& stop) {
  // On Linux each thread has its own priority. Lowering it is always allowed; if it fails anyway,
  // the estimates take a little more CPU time from others.
  constexpr int lowest_priority = 19;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest_priority);
  for (const QueueIndex plan : queue_indices(plans_)) {
    if (stop.stop_requested()) return;
    const auto estimate = estimate_plan(*source_, id_of_(plan), limits_, solver_);
    if (!estimate) continue;
    const std::scoped_lock lock(mutex_);
    ready_.emplace_back(plan, estimate->updates);
  }
}

namespace {

/// Returns the estimated updates of plans; NaN for a plan that cannot be read.
std::vector<double> updates_of(const PlanSource& source, const StringList& ids,
                               const SolverOptions& solver) {
  std::vector<double> updates(ids.size(), std::nan(""));
  parallel_for(default_thread_count(), ids.size(), [&] {
    return [&](std::size_t plan) {
      const auto estimate =
          estimate_plan(source, std::string(ids[plan]), solver.limits, solver.kind);
      if (estimate) updates[plan] = estimate->updates;
    };
  });
  return updates;
}

/// Replaces NaN by the mean of the known values. Throws RunError if there are none.
void fill_gaps(std::vector<double>& updates, const std::filesystem::path& data) {
  std::vector<double> known = updates;
  std::erase_if(known, [](double plan) { return std::isnan(plan); });
  if (known.empty() && !updates.empty())
    throw RunError(fmt::format("no remaining plan of {} can be read", data.string()));
  const double mean =
      std::accumulate(known.begin(), known.end(), 0.0) / static_cast<double>(known.size());
  for (double& plan : updates)
    if (std::isnan(plan)) plan = mean;
}

/// Speed of a core.
struct CoreSpeed {
  DurationModel model;
  std::string source = {};  ///< its origin; empty: unknown
};

/// Fits the speed of a core to plans that a CPU has solved.
CoreSpeed learn_speed(const std::vector<PlanResult>& solved, const PlanSource& source,
                      const SolverOptions& solver) {
  constexpr std::size_t enough = 256;
  StringList ids;
  std::vector<double> seconds;
  for (const PlanResult& row : solved) {
    if (!row.device.starts_with("cpu") || ids.size() == enough) continue;
    ids.push_back(row.id);
    seconds.push_back(single_core_seconds(row));
  }
  const std::vector<double> updates = updates_of(source, ids, solver);
  CoreSpeed speed;
  std::size_t learnt = 0;
  for (std::size_t plan = 0; plan < ids.size(); ++plan) {
    if (std::isnan(updates[plan])) continue;
    speed.model.add_sample(updates[plan], seconds[plan]);
    ++learnt;
  }
  if (learnt > 0) speed.source = fmt::format("from the times of {} solved plans", learnt);
  return speed;
}

/// Solves up to three plans and fits the speed of a core to them: the plans at a quarter, the
/// middle and three quarters of the list sorted by work. `updates` belong to `ids`.
CoreSpeed measure_speed(const StringList& ids, const std::vector<double>& updates,
                        const PlanSource& source, const SolverOptions& solver) {
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return updates[a] < updates[b]; });
  CoreSpeed speed;
  const auto made = solver.make();
  std::size_t measured = 0;
  const std::size_t last = order.size() - 1;
  for (const std::size_t position : {last / 2, last * 3 / 4, last / 4}) {
    try {
      const double start_s = thread_cpu_seconds();
      const FloorPlan plan = source.load(std::string(ids[order[position]]));
      (void)made->solve(plan, solver.limits, {});
      speed.model.add_sample(updates[order[position]], thread_cpu_seconds() - start_s);
      ++measured;
    } catch (const InputError&) {
      // The plan cannot be read; the others suffice.
    }
  }
  if (measured == 0)
    throw RunError(
        fmt::format("none of the sample plans of {} can be read", source.path().string()));
  speed.source = fmt::format("from {} on a core of this machine", count_text(measured, "plan"));
  return speed;
}

}  // namespace

double measure_core_speed(const PlanSource& source, const std::string& id, double updates,
                          const SolverOptions& solver) {
  constexpr double max_updates = 5e8;
  const FloorPlan plan = source.load(id);
  const auto interior_cells = static_cast<double>(std::max<std::int64_t>(count_interior(plan), 1));
  SolveParameters limits = solver.limits;
  // The other solvers make other steps if the number of iterations is limited.
  const bool is_limited = solver.kind == SolverKind::jacobi;
  if (is_limited)
    limits.max_iterations = std::min(limits.max_iterations,
                                     static_cast<std::int64_t>(max_updates / interior_cells) + 1);
  const double start_s = thread_cpu_seconds();
  const std::optional<Solution> solution = solver.make()->solve(plan, limits, {});
  const double seconds = std::max(thread_cpu_seconds() - start_s, 1e-6);
  if (is_limited) updates = interior_cells * static_cast<double>(solution->iterations);
  return updates / seconds;
}

RemainingWork remaining_work(const RunOptions& run, const std::vector<PlanResult>& solved,
                             double core_speed) {
  const SharedPlanSource source = open_plan_source(run.solve.data);
  IdIndex done;
  for (const PlanResult& row : solved) done.add(row.id);
  StringList wanted;
  for (const std::string_view id : requested_plans(*source, run.ids, run.ids_file, run.first).ids)
    if (!done.find(id)) wanted.push_back(id);
  std::vector<double> updates = updates_of(*source, wanted, run.solve.solver);
  fill_gaps(updates, run.solve.data);
  std::vector<double> plans_s(updates.size());
  const auto set_times = [&](const auto& seconds_of) {
    std::ranges::transform(updates, plans_s.begin(), seconds_of);
  };
  CoreSpeed speed;
  if (core_speed > 0) {
    speed.source = "from --core-speed";
    set_times([&](double plan) { return plan / core_speed; });
  } else {
    speed = learn_speed(solved, *source, run.solve.solver);
    if (speed.source.empty() && !wanted.empty() && run.solve.solver.kind == SolverKind::command)
      throw RunError(
          "the speed of the program of --solver-command is unknown: solve some of the plans with "
          "'wallheat run --first 3' and the same --out, from which this command then learns it, or "
          "specify --core-speed; 'wallheat scaling --replay FILE' predicts the time with more "
          "workers");
    if (speed.source.empty() && !wanted.empty())
      speed = measure_speed(wanted, updates, *source, run.solve.solver);
    set_times([&](double plan) { return speed.model.predict_seconds(plan); });
  }
  return {std::move(plans_s), std::move(updates), std::move(speed.source)};
}

}  // namespace wallheat
