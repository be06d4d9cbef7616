#include "simulation/cluster/threads.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace wallheat::simulation {

Threads::Threads(World& world, std::size_t plans, std::size_t workers, std::size_t threads_of_each)
    : world_(world),
      threads_of_each_(threads_of_each),
      plans_(plans, State{0, world.now()}),
      workers_(workers + 1, State{0, world.now()}) {}

Threads::AtWork::AtWork(Threads& threads, int worker, std::uint32_t plan)
    : threads_(threads), worker_(worker), plan_(plan) {
  ++threads_.plans_.at(plan_).at_work;
  ++threads_.workers_.at(static_cast<std::size_t>(worker_)).at_work;
}

Threads::AtWork::~AtWork() {
  State& plan = threads_.plans_[plan_];
  if (--plan.at_work == 0) plan.since_s = threads_.world_.now();
  State& worker = threads_.workers_[static_cast<std::size_t>(worker_)];
  if (worker.at_work-- == threads_.threads_of_each_) worker.since_s = threads_.world_.now();
}

std::optional<std::string> Threads::idle_for_long(
    const std::map<int, Seconds>& workers, const std::vector<std::uint32_t>& plans,
    const std::function<Seconds(std::uint32_t plan)>& longest_s) const {
  for (const auto& [rank, begin] : workers) {
    const State& worker = workers_.at(static_cast<std::size_t>(rank));
    if (worker.at_work >= threads_of_each_) continue;
    for (const std::uint32_t number : plans) {
      const State& plan = plans_.at(number);
      if (plan.at_work > 0) continue;
      const Seconds idle_s = world_.now() - std::max({worker.since_s, plan.since_s, begin});
      if (idle_s > longest_s(number))
        return fmt::format("a thread of rank {} for {:.0f} s, while plan {} waited", rank, idle_s,
                           number);
    }
  }
  return std::nullopt;
}

}  // namespace wallheat::simulation
