#include "run/superpositions.hpp"

#include <fmt/format.h>

#include <memory>
#include <mutex>

#include "core/threads.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

std::vector<FailedPlan> for_each_superposition(
    const PlanSource& source, const std::vector<std::string>& ids, const std::vector<double>& kinds,
    const SolveParameters& limits, std::size_t threads, const SuperpositionCallback& take,
    const std::function<void(std::size_t done)>& solved) {
  std::vector<std::string> reasons(ids.size());
  std::mutex counting;
  std::size_t done = 0;
  parallel_for(threads, ids.size(), [&] {
    const std::shared_ptr<Solver> solver = make_steady_solver(available_isas().back());
    return [&, solver](std::size_t index) {
      try {
        const FloorPlan plan = source.load(ids[index]);
        try {
          take(index, plan, solve_superposition(plan, kinds, *solver, limits));
        } catch (const InputError& error) {
          // The solver does not know the ID of the plan.
          throw InputError(fmt::format("plan {}: {}", ids[index], error.what()));
        }
      } catch (const InputError& error) {
        reasons[index] = error.what();
      }
      const std::scoped_lock lock(counting);
      ++done;
      if (solved) solved(done);
    };
  });
  std::vector<FailedPlan> unusable;
  for (std::size_t index = 0; index < ids.size(); ++index)
    if (!reasons[index].empty()) unusable.push_back({ids[index], reasons[index]});
  return unusable;
}

}  // namespace wallheat
