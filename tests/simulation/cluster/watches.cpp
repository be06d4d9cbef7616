#include "simulation/cluster/watches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

namespace {

TextList ids_of(const Campaign& campaign) {
  TextList ids;
  for (std::uint32_t plan = 0; plan < campaign.plans().size(); ++plan)
    ids.push_back(Campaign::id(plan));
  return ids;
}

RunTally tally_of(const Campaign& campaign) {
  RunTally tally;
  tally.total = campaign.rows().size();
  for (const Campaign::Row& row : campaign.rows()) tally.restored += is_answer(row.status) ? 1 : 0;
  tally.given_up = tally.total - tally.restored - campaign.plans_to_solve().size();
  return tally;
}

}  // namespace

StatusWatch::StatusWatch(Campaign& campaign, Process& rank0)
    : campaign_(campaign),
      rank0_(rank0),
      ids_(ids_of(campaign)),
      oldest_s_(10 + 3 * rank0.poll_s() + 20 * campaign.options().store_s) {}

void StatusWatch::see(const RunStatus& status) {
  seen_s_ = rank0_.world().now();
  if (status.restored + status.solved + status.failed + status.left > status.total)
    campaign_.violated("a status counts each plan once", to_json_text(status));
}

void StatusWatch::starts() {
  live_status_.emplace([this](const RunStatus& status) { see(status); }, log_, rank0_);
  live_status_->keep({});
}

RunMonitor& StatusWatch::solves() {
  return monitor_.emplace(log_, ProgressStyle::lines, std::nullopt, RunStatus{}, ids_,
                          tally_of(campaign_), *live_status_, rank0_);
}

void StatusWatch::closes() { live_status_->keep(monitor_->status("closing", std::nan(""))); }

void StatusWatch::ends() {
  live_status_.reset();
  seen_s_.reset();
}

void StatusWatch::judge(std::function<Seconds()> awake_since) {
  World& world = rank0_.world();
  world.at(world.now() + oldest_s_ / 4, [this, &world, awake_since = std::move(awake_since)] {
    if (rank0_.ended() || rank0_.dying()) return;
    if (seen_s_) {
      const Seconds old_s = world.now() - std::max(*seen_s_, awake_since());
      if (old_s > oldest_s_)
        campaign_.violated("a run that lives gives signs of life",
                           fmt::format("its status is {:.0f} s old", old_s));
    }
    judge(awake_since);
  });
}

}  // namespace wallheat::simulation
