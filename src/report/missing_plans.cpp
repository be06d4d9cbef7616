#include "report/missing_plans.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "core/cell_statistics.hpp"
#include "core/program.hpp"
#include "core/threads.hpp"
#include "node/placement.hpp"
#include "plans/work_estimate.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Work and size of plans, from the masks of up to a thousand plans.
struct PlanWeight {
  double mean_updates = 0;
  double median_cells = 0;
};

/// Returns the weight of the `count` plans with or without a result. Throws RunError if no mask can
/// be read, or if the median has no cells.
PlanWeight weight_of(const ResultReader& reader, bool with_result, std::size_t count,
                     const PlanSource& source, const SolverOptions& solver) {
  constexpr std::size_t enough = 1000;
  const std::size_t step = (count + enough - 1) / enough;
  std::vector<std::string> ids;
  std::size_t seen = 0;
  reader.for_each_row([&](const PlanResult& row) {
    if (is_solved(row.status) == with_result && seen++ % step == 0) ids.push_back(row.id);
  });
  std::vector<std::optional<WorkEstimate>> estimates(ids.size());
  parallel_for(default_thread_count(), ids.size(), [&] {
    return [&](std::size_t i) {
      estimates[i] = estimate_plan(source, ids[i], solver.limits, solver.kind);
    };
  });
  std::erase(estimates, std::nullopt);
  PlanWeight weight;
  std::vector<double> cells;
  for (const auto& estimate : estimates) {
    weight.mean_updates += estimate->updates / static_cast<double>(estimates.size());
    cells.push_back(static_cast<double>(estimate->interior_cells));
  }
  weight.median_cells = median(std::move(cells));
  if (!(weight.median_cells > 0))
    throw RunError(fmt::format("cannot estimate the missing plans: no mask of {} can be read",
                               source.path().string()));
  return weight;
}

}  // namespace

std::string MissingPlans::text() const {
  if (missing() == 0 || counts.solved == 0) return "";
  const std::string count = missing() == 1
                                ? "1 plan of the file has no result"
                                : fmt::format("{} plans of the file have no result", missing());
  if (!work_pct) return count + ": their sizes are unknown without their masks (use --data PLANS)";
  return fmt::format("{}: {:.3g} % of the predicted work, with a median size {:.2g} times as large",
                     count, *work_pct, *size_ratio);
}

MissingPlans describe_missing_plans(const ResultReader& reader,
                                    const std::function<SharedPlanSource()>& open_plans) {
  MissingPlans found{counts_of(reader)};
  if (found.missing() == 0 || found.counts.solved == 0) return found;
  try {
    const SharedPlanSource source = open_plans();
    const SolverOptions solver = recorded_solver("the result file", reader.settings());
    const std::size_t others = found.counts.solved;
    const PlanWeight of_missing = weight_of(reader, false, found.missing(), *source, solver);
    const PlanWeight of_others = weight_of(reader, true, others, *source, solver);
    const double work = static_cast<double>(found.missing()) * of_missing.mean_updates;
    found.work_pct = 100 * work / (work + static_cast<double>(others) * of_others.mean_updates);
    found.size_ratio = of_missing.median_cells / of_others.median_cells;
  } catch (const RunError&) {
    // The averages are valid without it, and text() reports that the sizes are unknown.
  }
  return found;
}

void add_missing_plans(const MissingPlans& missing, Report& report) {
  report.add_json_fact("missing", missing.missing());
  report.add_json_fact("missing_work_pct", missing.work_pct);
  report.add_json_fact("missing_size_ratio", missing.size_ratio);
}

void require_no_missing_plans(const std::string& file, const MissingPlans& missing,
                              Report& report) {
  const PlanCounts& counts = missing.counts;
  if (missing.missing() == 0) return;
  const std::string text = missing.text();
  report.error = fmt::format("{} contains results of {} of {} plans{}", file, counts.solved,
                             counts.solved + missing.missing(), text.empty() ? "" : "; " + text);
  report.exit_status = exit_status_of(counts.pending, counts.failed);
}

}  // namespace wallheat
