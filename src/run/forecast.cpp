#include "run/forecast.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>

namespace wallheat {

Forecast::Forecast(SharedPlanSource source, std::vector<Task> tasks, const Limits& limits,
                   SolverKind solver)
    : source_(std::move(source)),
      tasks_(std::move(tasks)),
      limits_(limits),
      solver_(solver),
      reader_([this](const std::stop_token& stop) { read_all(stop); }) {}

std::vector<std::pair<std::uint32_t, WorkEstimate>> Forecast::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(ready_, {});
}

void Forecast::read_all(const std::stop_token& stop) {
  // Linux gives each thread a priority of its own. To lower it is always allowed; if it fails all
  // the same, the estimates cost a little more.
  constexpr int lowest_priority = 19;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest_priority);
  // 4096 x 4096: mask and distances take 50 MiB, a pack's codes of such a plan up to 256 MiB more.
  constexpr std::size_t most_cells = std::size_t{1} << 24;
  for (const Task& task : tasks_) {
    if (stop.stop_requested()) return;
    try {
      const auto estimate = estimate_work(source_->interior(task.id, most_cells), limits_, solver_);
      const std::scoped_lock lock(mutex_);
      ready_.emplace_back(task.index, estimate);
    } catch (const std::exception&) {
      // No estimate; the worker that gets the plan reports what is wrong with it. Where memory does
      // not suffice, neither is that a reason to end the run.
    }
  }
}

}  // namespace wallheat
