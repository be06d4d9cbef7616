#include "simulation/cluster/status_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace wallheat::simulation {
namespace {

std::vector<std::string> ids_of(const Campaign& campaign) {
  std::vector<std::string> ids;
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
