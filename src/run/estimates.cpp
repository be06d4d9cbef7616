#include "run/estimates.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>

namespace wallheat {

std::optional<WorkEstimate> estimate_plan(const PlanSource& source, const std::string& id,
                                          const Limits& limits, SolverKind solver) {
  constexpr std::size_t most_cells = std::size_t{1} << 24;  // mask and distances take 64 MiB
  constexpr std::size_t most_counted = std::size_t{1} << 26;
  try {
    if (solver == SolverKind::steady)
      return estimate_steady_work(count_interior(source.interior(id, most_counted)), limits);
    return estimate_work(source.interior(id, most_cells), limits, solver);
  } catch (const std::exception&) {
    // The worker that gets the plan reports what is wrong with it. If memory does not suffice, that
    // is no reason to end the run, either.
    return std::nullopt;
  }
}

Estimates::Estimates(SharedPlanSource source, std::size_t plans,
                     std::function<std::string(std::uint32_t plan)> id_of, const Limits& limits,
                     SolverKind solver)
    : source_(std::move(source)),
      plans_(plans),
      id_of_(std::move(id_of)),
      limits_(limits),
      solver_(solver),
      reader_([this](const std::stop_token& stop) { read_all(stop); }) {}

std::vector<std::pair<std::uint32_t, double>> Estimates::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(ready_, {});
}

void Estimates::read_all(const std::stop_token& stop) {
  // Linux gives each thread a priority of its own. To lower it is always allowed; if it fails all
  // the same, the estimates cost a little more.
  constexpr int lowest_priority = 19;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest_priority);
  for (std::uint32_t plan = 0; plan < plans_; ++plan) {
    if (stop.stop_requested()) return;
    const auto estimate = estimate_plan(*source_, id_of_(plan), limits_, solver_);
    if (!estimate) continue;
    const std::scoped_lock lock(mutex_);
    ready_.emplace_back(plan, estimate->updates);
  }
}

}  // namespace wallheat
