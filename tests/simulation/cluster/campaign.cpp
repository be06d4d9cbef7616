#include "simulation/cluster/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wallheat/error.hpp"

namespace wallheat::simulation {

Campaign::Campaign(std::uint64_t seed, const Options& options, Reached& reached)
    : options_(options), reached_(reached) {
  const auto count = static_cast<std::size_t>(options.plans);
  for (std::size_t k = 0; k < count; ++k) {
    Random random(mixed(seed, 1000 + k));  // so that a plan stays what it is
    TruePlan plan;
    plan.seconds = options.plan_s * std::min(10.0, std::exp(options.spread * random.normal()));
    const auto is = [&](double part) { return random.chance(part); };
    if (is(options.bad_plans)) plan.sort = TruePlan::Sort::bad_input;
    if (is(options.deadly_plans)) plan.sort = TruePlan::Sort::deadly;
    if (is(options.endless_plans)) plan.sort = TruePlan::Sort::endless;
    if (is(options.worker_killers)) plan.sort = TruePlan::Sort::worker_killer;
    plan.stored_otherwise = is(options.stored_otherwise);
    plans_.push_back(plan);
  }
  rows_.resize(count);
  jobs_.resize(count);
  answers_.resize(count);
}

std::vector<QueuedPlan> Campaign::plans_to_solve() const {
  std::vector<QueuedPlan> plans;
  for (std::uint32_t k = 0; k < rows_.size(); ++k) {
    const Row& row = rows_[k];
    if (is_answer(row.status) || row.failures >= static_cast<int>(options_.max_attempts)) continue;
    plans.push_back({k, row.attempts, row.failures});
  }
  return plans;
}

void Campaign::answer_given(std::uint32_t plan, double value, Seconds time) {
  if (answers_.at(plan).empty()) last_first_answer_s_ = time;
  answers_.at(plan).insert(value);
}

void Campaign::violated(const std::string& invariant, const std::string& details) {
  if (!violation_) violation_.emplace(invariant, details);
}

bool Campaign::all_workers_stay() const {
  const Options& o = options_;
  return o.deadline + o.stop_request + o.source_away + o.device_faults + o.start_deaths +
             o.start_hangs + o.open_failures + o.link_errors + o.solver_deaths + o.solver_hangs +
             o.solver_babble + o.deadly_plans + o.endless_plans + o.stalls + o.pauses + o.nonsense +
             o.step_pauses + o.disk_hangs ==
         0;
}

bool Campaign::only_deadly_plans_fail() const {
  const Options& o = options_;
  return o.pauses + o.stalls + o.deaths + o.step_deaths + o.step_pauses + o.rank0_dies +
             o.endless_plans + o.worker_killers + o.solver_deaths + o.solver_hangs +
             o.solver_babble + o.device_faults + o.passing_failures + o.start_deaths +
             o.start_hangs + o.liars + o.stored_otherwise ==
         0;
}

void Campaign::check(const PlanResult& result, const Row& before) {
  const auto most = static_cast<int>(options_.max_attempts);
  const std::string name =
      fmt::format("plan {} ({}, attempts {}, failures {}{}{})", result.id, to_string(result.status),
                  result.attempts, result.failures, result.error.empty() ? "" : ": ", result.error);
  const bool conflict = result.error.find("gave different answers") != std::string::npos;
  if (is_answer(before.status) && !conflict) violated("an answer that is stored stays", name);
  if (result.attempts < before.attempts)
    violated("attempts are counted over all sessions",
             fmt::format("{} had {} attempts before", name, before.attempts));
  if (result.attempts > jobs_.at(result.index))
    violated("no attempt is counted that was none",
             fmt::format("{} was started {} time(s)", name, jobs_.at(result.index)));
  if (result.failures > most + (conflict ? 1 : 0))
    violated("a plan costs --max-attempts failures at most", name);
  if (is_answer(result.status)) {
    if (!answers_.at(result.index).contains(result.statistics.mean_temp))
      violated("an answer is what a worker gave", name);
    if (options_.liars == 0 && result.statistics.mean_temp != true_value(result.index))
      violated("an answer is that of its own plan", name);
    if (result.attempts < 1) violated("what was answered was started", name);
  } else if (result.status == PlanStatus::failed) {
    if (result.error.empty()) violated("a failure has a reason", name);
    if (plans_.at(result.index).sort == TruePlan::Sort::good && only_deadly_plans_fail())
      violated("no plan fails for what another did", name);
    const bool passing = result.error.find("bad input") == std::string::npos;
    if (result.may_pass && passing && !conflict && result.failures < 1)
      violated("failures are counted", name);
  }
}

std::vector<PlanResult> Campaign::keep(std::span<const PlanResult> results) {
  std::vector<PlanResult> otherwise;
  std::set<std::uint32_t> seen;
  for (const PlanResult& asked : results) {
    if (asked.index >= rows_.size() || asked.id != id(asked.index)) {
      violated("a result has the number and the id of its plan", asked.id);
      continue;
    }
    if (!seen.insert(asked.index).second) violated("a batch has one row a plan", asked.id);
    Row& row = rows_[asked.index];
    check(asked, row);
    PlanResult result = asked;
    if (is_answer(result.status) && plans_[asked.index].stored_otherwise) {
      result.status = PlanStatus::failed;
      result.error = "its field cannot be stored";
      result.failures = static_cast<int>(options_.max_attempts);
      otherwise.push_back(result);
      reached("stored otherwise");
    }
    row.status = result.status;
    row.attempts = result.attempts;
    row.failures = result.failures;
    row.value = result.statistics.mean_temp;
    row.error = result.error;
  }
  return otherwise;
}

void Campaign::acknowledge(const PlanResult& result) {
  const Row& row = rows_.at(result.index);
  if (is_answer(result.status) && !is_answer(row.status) &&
      row.error.find("gave different answers") == std::string::npos)
    violated("what is acknowledged is stored", result.id);
}

Witness::Witness(Campaign& campaign, Process& rank0, Random random, bool with_faults)
    : campaign_(campaign), rank0_(rank0), random_(random), with_faults_(with_faults) {}

void Witness::expect(bool kept, const char* invariant, const std::string& details) {
  if (!kept) campaign_.violated(invariant, details);
}

std::vector<PlanResult> Witness::store(std::span<const PlanResult> results) {
  const Options& options = campaign_.options();
  rank0_.sleep(random_.exponential(options.store_s));
  if (const Seconds left = disk_hangs_until_ - rank0_.world().now(); left > 0) {
    campaign_.reached("the disk hangs");
    rank0_.sleep(left);
  }
  if (with_faults_ && random_.chance(options.store_failures)) {
    campaign_.reached("a batch cannot be stored");
    throw RunError("no space left on the simulated disk");
  }
  if (results.size() > 1) campaign_.reached("a batch of several results");
  auto otherwise = campaign_.keep(results);
  // Whoever is killed here has stored what he could not tell of.
  rank0_.sleep(random_.exponential(options.store_s / 2));
  return otherwise;
}

void Witness::hear(const Event& event) {
  monitor_->hear(event);
  const int rank = event.worker ? event.worker->rank : 0;
  switch (event.kind) {
    case Event::Kind::worker_ready:
      return worker_ready(rank);
    case Event::Kind::worker_refused:
      campaign_.reached(ready_.contains(rank) ? "a worker suddenly speaks otherwise"
                                              : "a worker is refused");
      ready_.erase(rank);
      gone_.insert(rank);
      return;
    case Event::Kind::worker_left:
      return worker_left(rank, event.reason);
    case Event::Kind::worker_lost:
      return worker_lost(*event.worker, event.seconds);
    case Event::Kind::worker_back:
      campaign_.reached("a lost worker is back");
      expect(!ready_.contains(rank), "only the lost come back", std::to_string(rank));
      ready_.emplace(rank, rank0_.world().now());
      return;
    case Event::Kind::leased:
      for (const Task& task : event.tasks) leased(rank, task);
      return;
    case Event::Kind::started:
      for (const Task& task : event.tasks) {
        expect(leased_.contains(task.index) && leased_[task.index].contains(rank),
               "a worker starts what it was given",
               fmt::format("plan {} at rank {}", task.id, rank));
        runs_[rank].insert(task.index);
      }
      return;
    case Event::Kind::heartbeat:
      for (const PlanProgress& plan : event.heartbeat.running)
        expect(plan.index < campaign_.rows().size(), "a heartbeat names plans",
               std::to_string(rank));
      return;
    case Event::Kind::stored:
      return stored(event.result);
    case Event::Kind::failed_try:
      return failed_try(event.result);
    case Event::Kind::repeated:
      return repeated(event.result);
    case Event::Kind::conflict:
      return conflict(event.result);
    case Event::Kind::stopping:
      campaign_.reached("stopped early: " + event.reason.substr(0, event.reason.find(" is ")));
      stopping_ = true;
      return;
    case Event::Kind::abandoned:
      campaign_.reached("a plan is abandoned");
      expect(!answered_.contains(event.result.index), "what is answered is not abandoned",
             event.result.id);
      return;
    case Event::Kind::predictions_judged:
      if (event.quality.plans > 0) campaign_.reached("predictions are judged");
      return;
    case Event::Kind::tick:
      return tick(event.seconds);
  }
}

void Witness::worker_ready(int rank) {
  ready_s_.emplace(rank, rank0_.world().now());
  expect(!ready_.contains(rank), "a worker gets ready once", std::to_string(rank));
  expect(!gone_.contains(rank), "who left for good does not come back", std::to_string(rank));
  ready_.emplace(rank, rank0_.world().now());
}

void Witness::leased(int rank, const Task& task) {
  const std::string what = fmt::format("plan {} to rank {}", task.id, rank);
  expect(ready_.contains(rank), "only workers that are there get plans", what);
  expect(!answered_.contains(task.index), "what is answered is not handed out again", what);
  expect(!stopping_, "nothing is handed out while the run stops", what);
  expect(lost_workers_[task.index] <= campaign_.options().max_attempts,
         "a plan costs --max-attempts workers at most", what);
  // Whoever is about to leave takes nothing more, and others may have no time, or be busy for long.
  constexpr Seconds long_s = 50;
  const auto failed = failed_at_.find(task.index);
  if (failed != failed_at_.end() && failed->second.first == rank && ready_.size() > 1 &&
      rank0_.world().now() < failed->second.second + long_s && campaign_.all_workers_stay())
    doubts_[task.index] = what;
  auto& holders = leased_[task.index];
  if (!holders.empty() && !holders.contains(rank)) campaign_.reached("handed out again");
  holders.insert(rank);
}

void Witness::stored(const PlanResult& result) {
  runs_[result.rank].erase(result.index);
  const bool again = !stored_.insert(result.index).second;
  const bool answer = is_answer(result.status);
  expect(!answered_.contains(result.index), "each plan is answered once", result.id);
  if (again) {
    const bool otherwise = campaign_.plans().at(result.index).stored_otherwise;
    expect(answer || otherwise, "each plan fails for good once", result.id);
    if (answer) campaign_.reached("a failed plan is answered after all");
  }
  if (answer) answered_.insert(result.index);
  if (!answer) {
    campaign_.reached("a plan fails for good");
    if (result.error.find("when they fell silent") != std::string::npos)
      campaign_.reached("a plan fails for good as its workers fall silent");
    const bool early = result.may_pass && result.failures < campaign_.options().max_attempts;
    expect(!early, "a failure that may pass is tried again --max-attempts times", result.error);
  }
  campaign_.acknowledge(result);
}

void Witness::repeated(const PlanResult& result) {
  runs_[result.rank].erase(result.index);
  campaign_.reached("a copy's answer comes second");
  // Of one that has failed in between, the first answer may be the second that came.
  const auto& row = campaign_.rows().at(result.index);
  if (campaign_.options().liars == 0 && is_answer(row.status))
    expect(row.value == result.statistics.mean_temp, "a copy's answer equals the first", result.id);
}

void Witness::failed_try(const PlanResult& result) {
  runs_[result.rank].erase(result.index);
  doubts_.erase(result.index);
  campaign_.reached("a plan is tried again");
  expect(result.failures < campaign_.options().max_attempts, "what is tried again has tries left",
         result.error);
  expect(result.may_pass, "what cannot pass is not tried again", result.error);
  failed_at_[result.index] = {result.rank, rank0_.world().now()};
}

void Witness::conflict(const PlanResult& failed) {
  campaign_.reached("two workers give different answers");
  expect(campaign_.options().liars > 0, "devices that do not lie do not conflict", failed.error);
  expect(conflicts_.insert(failed.index).second, "a conflict is told once", failed.id);
  answered_.erase(failed.index);
}

void Witness::worker_left(int rank, const std::string& reason) {
  expect(!campaign_.only_deadly_plans_fail() ||
             reason.find("with several plans at once") == std::string::npos,
         "who may have killed a solver process is tried alone", reason);
  campaign_.reached("a worker leaves");
  ready_.erase(rank);
  gone_.insert(rank);
}

void Witness::worker_lost(const WorkerInfo& worker, double silent_s) {
  for (const std::uint32_t plan : runs_[worker.rank]) ++lost_workers_[plan];
  runs_[worker.rank].clear();
  const bool too_slow = silent_s == Timeouts{}.start_s;
  campaign_.reached(ready_.contains(worker.rank) ? "a worker is lost"
                    : !too_slow                  ? "a worker falls silent before it is ready"
                    : worker.host == "its host"  ? "a worker does not report in time"
                                                 : "a worker never gets ready");
  ready_.erase(worker.rank);
}

void Witness::tick(double seconds_left) {
  const RunTally& tally = monitor_->tally();
  expect(tally.solved == answered_.size() && tally.failed == stored_.size() - answered_.size(),
         "the monitor counts what is stored",
         fmt::format("{} solved and {} failed of {} and {}", tally.solved, tally.failed,
                     answered_.size(), stored_.size() - answered_.size()));
  for (const auto& [plan, what] : doubts_)
    expect(false, "what failed at one worker goes to another", what);
  expect(!(seconds_left < 0), "time left is not negative", std::to_string(seconds_left));
}

}  // namespace wallheat::simulation
