#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "forecast/campaign_choices.hpp"
#include "forecast/replay.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

// Choices of partition and job size for a campaign, and predicted run times.

namespace wallheat {
namespace {

TEST(ParseSinfo, ReadsResourcesOfPartitions) {
  const auto partitions = parse_sinfo("sinfo",
                                      "medium|up|20|32|(null)|2-12:30:00|1-infinite|192000+\n"
                                      "medium|up|3|64+|(null)|2-12:30:00|1-infinite\n"
                                      "gpu|up|4|16|gpu:a100:4(S:0-1,3),lustre:1|1-00:00:00|1-2\n"
                                      "mixed|up|4|16|gpu:v100:1,gpu:a100:2|30:00|1\n"
                                      "old|down|9|8|(null)|infinite|1-infinite\n"
                                      "free|up|1|8|gpu|infinite|1-infinite\n"
                                      "medium|up|2|32|gpu:a100:2|2-12:30:00|1-infinite\n"
                                      "medium|up|1|32|gpu:v100:1|2-12:30:00|1-infinite\n");
  ASSERT_EQ(partitions.size(), 5U);
  EXPECT_EQ(partitions[0], (Partition{"medium", 20, 32, 0, 217'800, 0, 192'000LL << 20}));
  EXPECT_EQ(partitions[1], (Partition{"gpu", 4, 16, 4, 86'400, 2}));
  EXPECT_EQ(partitions[2], (Partition{"mixed", 4, 16, 3, 1800, 1}));
  EXPECT_EQ(partitions[3], (Partition{"free", 1, 8, 1, 0, 0}));
  EXPECT_EQ(partitions[4], (Partition{"medium", 2, 32, 2, 217'800, 0}))
      << "the most frequent nodes with GPUs";
}

TEST(ParseSinfo, NamesInvalidLine) {
  const std::string huge = "9223372036854775807";
  for (const auto& [text, facts] : {std::pair<std::string, Facts>{"a|up|1|2\n", {"4", "8"}},
                                    {"a|up|x|2|(null)|1:00:00|1\n", {"nodes", "'x'"}},
                                    {"a|up|1|2|(null)|1:00:xx|1\n", {"time limit", "'1:00:xx'"}},
                                    {"a|up|1|2|(null)|" + huge + "|1\n", {"time limit", huge}},
                                    {"a|up|1|2|(null)|1|1|" + huge + "\n", {"memory", huge}}})
    EXPECT_THAT(error_message_of<RunError>([&, &text = text] { (void)parse_sinfo("sinfo", text); }),
                AllOf(Mentions("sinfo"), Mentions("line 1"), Mentions(facts)));
}

TEST(MaxArrayTasks, IsOneLessThanMaxArraySize) {
  EXPECT_EQ(max_array_tasks("scontrol", "MailProg = /bin/mail\nMaxArraySize            = 1001\n"),
            1000U);
  EXPECT_EQ(max_array_tasks("scontrol", "MaxArraySize            = 0\n"), 0U);
  EXPECT_THROW((void)max_array_tasks("scontrol", "nothing\n"), RunError);
}

/// 64 plans, each of which takes 100 s on a core.
class CampaignChoicesTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<Choice> choices() const {
    return campaign_choices(plans_, partitions_, limits_, waits_, order_);
  }
  /// Returns the forecast of a scheduler queue in which all waits are equal.
  static WaitForecast queue_of(std::int64_t wait_s) {
    std::vector<Wait> waits;
    for (int i = 0; i < 2000; ++i) waits.push_back({i * 100'000, wait_s, true});
    return forecast_waits(waits);
  }
  /// Jobs of fewer core hours than `hours` wait for one minute, others for two hours.
  [[nodiscard]] WaitLookup short_below(double hours) const {
    return [this, hours](const std::string&, std::size_t, double core_hours) {
      return core_hours < hours ? &few_ : &many_;
    };
  }

  const WaitForecast few_ = queue_of(60);
  const WaitForecast many_ = queue_of(7200);
  PlanTimes plans_{std::vector<double>(64, 100)};
  std::vector<Partition> partitions_{{"medium", 4, 4, 0, 0, 0}};
  ChoiceLimits limits_{1000, 0, 0};
  WaitLookup waits_ = [](const std::string&, std::size_t, double) { return nullptr; };
  ChoiceOrder order_ = ChoiceOrder::bound;
};

/// Nodes per job, jobs, and jobs that run at the same time.
using JobSizes = std::tuple<std::size_t, std::size_t, std::size_t>;

JobSizes sizes_of(const Choice& choice) {
  return {choice.nodes, choice.jobs, choice.max_concurrent};
}

TEST_F(CampaignChoicesTest, OffersSingleJobsOrJobArrays) {
  std::vector<JobSizes> sizes;
  for (const Choice& choice : choices()) {
    EXPECT_EQ(choice.partition, "medium");
    sizes.push_back(sizes_of(choice));
  }
  EXPECT_THAT(sizes, testing::UnorderedElementsAre(
                         JobSizes{1, 1, 1}, JobSizes{2, 1, 1}, JobSizes{4, 1, 1}, JobSizes{1, 2, 2},
                         JobSizes{1, 4, 4}, JobSizes{1, 8, 4}, JobSizes{1, 16, 4},
                         JobSizes{1, 32, 4}, JobSizes{1, 64, 4}))
      << "at most 16 jobs per node and one job per plan";
  limits_.max_array_tasks = 3;
  EXPECT_EQ(choices().size(), 4U) << "MaxArraySize forbids four";
  partitions_[0].max_nodes = 1;
  EXPECT_EQ(choices().size(), 2U);
}

TEST_F(CampaignChoicesTest, DescribesEachChoice) {
  for (const auto& [sizes, facts] : {std::pair(JobSizes{1, 1, 1}, Facts{"1 node", "medium"}),
                                     {{2, 1, 1}, {"2 nodes", "medium"}},
                                     {{1, 4, 4}, {"array", "4 jobs", "medium"}},
                                     {{1, 16, 4}, {"array", "16 jobs", "medium", "4"}}}) {
    const auto all = choices();
    const auto choice = std::ranges::find(all, sizes, sizes_of);
    ASSERT_NE(choice, all.end());
    EXPECT_THAT(choice_text(*choice), Mentions(facts));
  }
}

TEST_F(CampaignChoicesTest, CountsOneWaitForManySmallJobs) {
  waits_ = short_below(0.4);
  const Choice best = choices().front();
  EXPECT_EQ(sizes_of(best), (JobSizes{1, 16, 4}));
  EXPECT_DOUBLE_EQ(best.run_s, 400) << "four rounds, in which each core solves a plan";
  EXPECT_EQ(best.wait_95_s, 60) << "jobs of later rounds start when others end";
  EXPECT_EQ(best.limit_s, 300) << "each job requests the time of its own shard only";
  EXPECT_EQ(best.cores, 16U) << "at a time";
}

TEST_F(CampaignChoicesTest, EstimatesCostOfRun) {
  partitions_[0].nodes = 1;
  const Choice one = choices().at(0);
  EXPECT_DOUBLE_EQ(one.run_s, 1600) << "64 plans on 4 cores";
  EXPECT_EQ(one.limit_s, 2400) << "a quarter and two minutes more, in steps of five minutes";
  EXPECT_DOUBLE_EQ(one.core_hours, 4 * 1600.0 / 3600);
  EXPECT_FALSE(one.completion_s()) << "the wait is not known";
  EXPECT_THAT(recommendation_text(choices(), order_),
              AllOf(Mentions("waits"), HasSubstr(choice_text(choices().front()))));
}

TEST_F(CampaignChoicesTest, RestartsJobsStoppedByTimeLimit) {
  limits_.max_array_tasks = 0;
  partitions_[0] = {"short", 1, 4, 0, 620, 0};
  waits_ = short_below(1000);
  const Choice one = choices().at(0);
  EXPECT_EQ(one.limit_s, 620);
  EXPECT_EQ(one.start_count, 4U) << "1600 s in pieces of 500";
  EXPECT_EQ(one.wait_95_s, 240);
  EXPECT_DOUBLE_EQ(one.core_hours, 4 * 1600.0 / 3600);
  limits_.start_up_s = 60;
  const Choice restarted = choices().at(0);
  EXPECT_EQ(restarted.start_count, 4U);
  EXPECT_DOUBLE_EQ(restarted.run_s, 1600 + 4 * 60);
  EXPECT_DOUBLE_EQ(restarted.core_hours, 4 * restarted.run_s / 3600)
      << "each start takes the cores";
}

TEST_F(CampaignChoicesTest, OrdersByCompletionTime) {
  EXPECT_DOUBLE_EQ(choices().front().run_s, 400) << "the shortest run, without waits";
  waits_ = short_below(3);
  EXPECT_EQ(sizes_of(choices().front()), (JobSizes{1, 4, 4}));
  limits_.max_array_tasks = 0;
  const auto single = choices();
  EXPECT_EQ(sizes_of(single.front()), (JobSizes{2, 1, 1}));
  EXPECT_EQ(single.front().wait_95_s, 60);
  EXPECT_DOUBLE_EQ(single.front().completion_s().value(), 860);
  EXPECT_THAT(
      recommendation_text(single, order_),
      Mentions({"2 nodes", "medium", "13 min", "1 min", "95 %", "4 nodes", "7 min", "2 h 00 min"}));
  waits_ = short_below(1000);
  EXPECT_THAT(recommendation_text(choices(), order_),
              Mentions({"4 nodes", "medium", "9 min", "95 %"}));
  order_ = ChoiceOrder::core_hours;
  const Choice cheapest = choices().front();
  EXPECT_THAT(recommendation_text(choices(), order_),
              Mentions({"core hours", fmt::format("{:.2f}", cheapest.core_hours)}));
}

TEST_F(CampaignChoicesTest, DistinguishesUnboundedWaitsFromUnknownOnes) {
  // 200 jobs started at once, and then as many jobs have waited for an hour so far.
  std::vector<Wait> waits;
  for (int i = 0; i < 200; ++i) waits.push_back({i * 1000, 60, true});
  for (int i = 0; i < 200; ++i) waits.push_back({1'000'000, 3600, false});
  const WaitForecast crowded = forecast_waits(waits);
  ASSERT_TRUE(std::isinf(crowded.bound_s(0.95).value()));
  const auto shortest_run = [this] { return choice_text(choices().front()); };
  const std::string unknown = recommendation_text(choices(), order_);
  EXPECT_THAT(unknown, Mentions(shortest_run()));
  waits_ = [&](const std::string&, std::size_t, double) { return &crowded; };
  for (const ChoiceOrder order : {ChoiceOrder::median, ChoiceOrder::bound}) {
    order_ = order;
    const std::string unbounded = recommendation_text(choices(), order_);
    EXPECT_THAT(unbounded, Mentions({shortest_run(), "7 min"}));
    EXPECT_NE(unbounded, unknown) << "more history of jobs does not help";
  }
}

TEST_F(CampaignChoicesTest, WaitsForLastJobOfArray) {
  limits_.max_array_tasks = 4;
  std::vector<Wait> waits;
  for (std::int64_t i = 0; i < 1000; ++i) waits.push_back({i * 100'000, i * 617 % 1000, true});
  const WaitForecast queue = forecast_waits(waits);
  waits_ = [&](const std::string&, std::size_t, double) { return &queue; };
  for (const Choice& choice : choices()) {
    const double n = static_cast<double>(choice.jobs);
    EXPECT_EQ(choice.wait_s, queue.bound_s(std::pow(0.5, 1 / n))) << choice_text(choice);
    EXPECT_EQ(choice.wait_95_s, queue.bound_s(std::pow(0.95, 1 / n))) << choice_text(choice);
  }
  partitions_[0].nodes = 64;
  limits_.max_array_tasks = 64;
  const auto all = choices();
  const auto widest = std::ranges::find(all, 64U, &Choice::jobs);
  ASSERT_NE(widest, all.end());
  EXPECT_EQ(widest->wait_95_s, 999)
      << "the longest wait, because 1,000 waits do not bound one of 1,250";
}

/// 64 plans that take 1 s each on a GPU, and nodes with four GPUs.
class GpuChoicesTest : public CampaignChoicesTest {
 protected:
  GpuChoicesTest() {
    plans_.gpu_s.assign(64, 1);
    partitions_ = {{"gpu", 2, 16, 4, 0, 0}};
    limits_.max_array_tasks = 2;
  }
  /// Returns the choices as numbers of nodes, jobs, GPUs per node, and cores to request.
  [[nodiscard]] auto sizes() const {
    std::vector<std::array<std::size_t, 4>> sizes;
    for (const Choice& choice : choices())
      sizes.push_back({choice.nodes, choice.jobs, choice.gpus, choice.job_cores});
    return sizes;
  }
};

TEST_F(GpuChoicesTest, OffersCoresOrGpus) {
  using testing::UnorderedElementsAre;
  using Sizes = std::array<std::size_t, 4>;
  EXPECT_THAT(sizes(), UnorderedElementsAre(Sizes{1, 1, 0, 0}, Sizes{2, 1, 0, 0}, Sizes{1, 2, 0, 0},
                                            Sizes{1, 1, 4, 0}, Sizes{2, 1, 4, 0}, Sizes{1, 2, 4, 0},
                                            Sizes{1, 1, 1, 4}))
      << "one GPU with its share of the cores of a node";
  plans_.needs_gpus = true;
  EXPECT_THAT(sizes(), UnorderedElementsAre(Sizes{1, 1, 4, 0}, Sizes{2, 1, 4, 0}, Sizes{1, 2, 4, 0},
                                            Sizes{1, 1, 1, 4}));
  partitions_[0].gpus = 0;
  EXPECT_TRUE(choices().empty());
  plans_ = {plans_.core_s};
  partitions_[0].gpus = 4;
  EXPECT_EQ(sizes().size(), 3U) << "the solver does not run on GPUs";
}

TEST_F(GpuChoicesTest, OffersEachTypeOfNodeForItsDevice) {
  partitions_.push_back({"gpu", 8, 32, 0, 0, 0});
  limits_.max_array_tasks = 0;
  std::size_t widest = 0;
  for (const Choice& choice : choices()) {
    if (choice.gpus > 0) {
      EXPECT_LE(choice.nodes, 2U);
      continue;
    }
    widest = std::max(widest, choice.nodes);
    EXPECT_EQ(choice.cores, 32 * choice.nodes);
  }
  EXPECT_EQ(widest, 8U) << "the nodes without GPUs";
}

TEST_F(GpuChoicesTest, PredictsTimeAndCostOfGpus) {
  limits_.start_up_s = 2;
  const auto all = choices();
  const auto find = [&](std::size_t nodes, std::size_t gpus) {
    return *std::ranges::find_if(all, [&](const Choice& choice) {
      return choice.nodes == nodes && choice.gpus == gpus && choice.jobs == 1;
    });
  };
  EXPECT_DOUBLE_EQ(find(1, 1).run_s, 2 + 64);
  EXPECT_DOUBLE_EQ(find(1, 4).run_s, 2 + 16);
  EXPECT_DOUBLE_EQ(find(2, 4).run_s, 2 + 8);
  EXPECT_DOUBLE_EQ(find(2, 4).gpu_hours, 8 * 10.0 / 3600);
  EXPECT_DOUBLE_EQ(find(2, 4).core_hours, 32 * 10.0 / 3600) << "the job takes whole nodes";
  EXPECT_DOUBLE_EQ(find(1, 1).core_hours, 4 * 66.0 / 3600);
  EXPECT_EQ(find(1, 0).gpu_hours, 0);
  EXPECT_THAT(choice_text(find(1, 4)), Mentions({"1 node", "gpu", "4 GPUs"}));
  EXPECT_THAT(choice_text(find(2, 4)), Mentions({"2 nodes", "gpu", "4 GPUs", "each"}));
  EXPECT_EQ(sizes_of(all.front()), (JobSizes{2, 1, 1})) << "the shortest run";
  EXPECT_EQ(all.front().gpus, 4U);
}

TEST(MachineTimes, ComparesThisMachineWithOthers) {
  const PlanTimes plans{std::vector<double>(64, 100), std::vector<double>(64, 1)};
  const auto machines = machine_times(plans, 4, 2, {0, 8, 5});
  const auto time_on = [&](bool is_here, std::size_t nodes, std::size_t cores, std::size_t gpus) {
    for (const MachineTime& machine : machines)
      if (machine.is_here == is_here && machine.nodes == nodes && machine.cores == cores &&
          machine.gpus == gpus)
        return machine.run_s;
    return std::nan("");
  };
  EXPECT_EQ(machines.size(), 5U);
  EXPECT_EQ(time_on(true, 1, 4, 0), 1600);
  EXPECT_EQ(time_on(true, 1, 0, 2), 32);
  EXPECT_EQ(time_on(false, 1, 8, 0), 5 + 800);
  EXPECT_EQ(time_on(false, 4, 8, 0), 5 + 200);
  EXPECT_EQ(time_on(false, 1, 0, 1), 5 + 64);
  EXPECT_THAT(recommendation_text(machines), Mentions({"2 GPUs", "32 s"}));
  const auto without_gpus = machine_times({plans.core_s}, 4, 2, {0, 0, 5});
  EXPECT_EQ(without_gpus.size(), 3U);
  EXPECT_THAT(recommendation_text(without_gpus),
              Mentions({"27 min", "4 nodes", "16 cores", "2 min"}));
  EXPECT_THAT(
      recommendation_text(machine_times({plans.core_s, plans.gpu_s, true}, 4, 0, {0, 0, 5})),
      Mentions({"--device gpu", "1 GPU", "1 min"}));
}

constexpr Schedule all_schedules[] = {Schedule::static_shares, Schedule::dynamic,
                                      Schedule::longest_first};

double replayed(const std::vector<double>& plans, Schedule schedule, std::size_t workers) {
  return Replay(plans, schedule).seconds(workers);
}

TEST(Replay, AssignsPlansBySchedule) {
  const std::vector<double> plans{5, 1, 1, 1, 4};
  EXPECT_EQ(replayed(plans, Schedule::static_shares, 2), 6) << "5 + 1 parallel to 1 + 1 + 4";
  EXPECT_EQ(replayed(plans, Schedule::dynamic, 2), 7) << "5 parallel to 1 + 1 + 1 + 4";
  EXPECT_EQ(replayed(plans, Schedule::longest_first, 2), 6) << "5 + 1 parallel to 4 + 1 + 1";
  EXPECT_EQ(replayed({9, 9, 1, 1}, Schedule::static_shares, 2), 18);
}

TEST(Replay, IsBoundedByLongestPlan) {
  const std::vector<double> plans{5, 1, 1, 1, 4};
  for (const Schedule schedule : all_schedules) {
    EXPECT_EQ(replayed(plans, schedule, 1), 12);
    EXPECT_EQ(replayed(plans, schedule, 5), 5);
    EXPECT_EQ(replayed(plans, schedule, 1'000'000'000), 5);
    EXPECT_EQ(replayed({}, schedule, 3), 0);
  }
}

TEST(Replay, FindsSufficientWorkerCount) {
  const std::vector<double> plans{1, 1, 1, 1, 5};
  EXPECT_EQ(Replay(plans, Schedule::longest_first).longest_plan_s(), 5);
  EXPECT_EQ(Replay(plans, Schedule::longest_first).sufficient_workers(), 2U);
  EXPECT_EQ(Replay(plans, Schedule::dynamic).sufficient_workers(), 5U);
  EXPECT_EQ(Replay(plans, Schedule::static_shares).sufficient_workers(), 5U);
}

TEST(ContentionFactor, DependsOnConcurrentPlans) {
  EXPECT_EQ(contention_factor(1.25, 1, 1), 1) << "the stored time";
  EXPECT_EQ(contention_factor(1.25, 1, 8), 1.25);
  EXPECT_EQ(contention_factor(1.25, 4, 8), 1) << "the stored plan had concurrent plans, too";
  EXPECT_EQ(contention_factor(1.25, 4, 1), 0.8);
}

}  // namespace
}  // namespace wallheat
