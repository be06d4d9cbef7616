

#include "forecast/campaign_choices.hpp"
#include "forecast/replay.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

// Where a campaign may run, and how long it takes there.

namespace wallheat {
namespace {

TEST(Sinfo, tells_nodes_cores_gpus_and_limits) {
  const auto partitions = parse_sinfo("sinfo",
                                      "medium|up|20|32|(null)|2-12:30:00|1-infinite|192000+\n"
                                      "medium|up|3|64+|(null)|2-12:30:00|1-infinite\n"
                                      "gpu|up|4|16|gpu:a100:4(S:0-1,3),lustre:1|1-00:00:00|1-2\n"
                                      "mixed|up|4|16|gpu:v100:1,gpu:a100:2|30:00|1\n"
                                      "old|down|9|8|(null)|infinite|1-infinite\n"
                                      "free|up|1|8|gpu|infinite|1-infinite\n");
  ASSERT_EQ(partitions.size(), 4U);
  EXPECT_EQ(partitions[0], (Partition{"medium", 20, 32, 0, 217'800, 0, 192'000'000'000}));
  EXPECT_EQ(partitions[1], (Partition{"gpu", 4, 16, 4, 86'400, 2}));
  EXPECT_EQ(partitions[2], (Partition{"mixed", 4, 16, 3, 1800, 1}));
  EXPECT_EQ(partitions[3], (Partition{"free", 1, 8, 1, 0, 0}));
}

TEST(Sinfo, names_the_line_that_is_broken) {
  for (const auto& [text, part] : {std::pair{"a|up|1|2\n", "sinfo, line 1: 4 fields in place of 8"},
                                   {"a|up|x|2|(null)|1:00:00|1\n", "number of nodes is 'x'"},
                                   {"a|up|1|2|(null)|1:00:xx|1\n", "time limit is 'xx'"},
                                   {"a|up|1|2|(null)|9223372036854775807|1\n", "time limit is '9"},
                                   {"a|up|1|2|(null)|1|1|9223372036854775807\n", "memory is '9"}})
    EXPECT_THAT(error_message_of<RunError>([&, &text = text] { (void)parse_sinfo("sinfo", text); }),
                HasSubstr(part));
}

TEST(MaxArraySize, is_one_more_than_the_tasks_from_1_on) {
  EXPECT_EQ(most_array_tasks("scontrol", "MailProg = /bin/mail\nMaxArraySize            = 1001\n"),
            1000U);
  EXPECT_EQ(most_array_tasks("scontrol", "MaxArraySize            = 0\n"), 0U);
  EXPECT_THROW((void)most_array_tasks("scontrol", "nothing\n"), RunError);
}

/// 64 plans of 100 s on a core.
class Choices : public testing::Test {
 protected:
  [[nodiscard]] std::vector<Choice> choices() const {
    return campaign_choices(plans_s_, partitions_, limits_, waits_, order_);
  }
  /// A queue in which all waits are alike.
  static WaitForecast queue_of(std::int64_t wait_s) {
    std::vector<Wait> waits;
    for (int i = 0; i < 2000; ++i) waits.push_back({i * 100'000, wait_s, true});
    return forecast_waits(waits);
  }
  /// Jobs of fewer core hours than this wait for a minute, others for two hours.
  [[nodiscard]] WaitsOf short_below(double hours) const {
    return [this, hours](const std::string&, std::size_t, double core_hours) {
      return core_hours < hours ? &few_ : &many_;
    };
  }

  const WaitForecast few_ = queue_of(60);
  const WaitForecast many_ = queue_of(7200);
  std::vector<double> plans_s_ = std::vector<double>(64, 100);
  std::vector<Partition> partitions_{{"medium", 4, 4, 0, 0, 0}};
  ChoiceLimits limits_{1000, 0, 0};
  WaitsOf waits_ = [](const std::string&, std::size_t, double) { return nullptr; };
  ChoiceOrder order_ = ChoiceOrder::bound;
};

TEST_F(Choices, are_one_job_or_few_or_many_jobs_of_an_array) {
  std::vector<std::string> texts;
  for (const Choice& choice : choices()) texts.push_back(choice_text(choice));
  EXPECT_THAT(texts, testing::UnorderedElementsAre(
                         "1 node of medium", "2 nodes of medium", "4 nodes of medium",
                         "an array of 2 jobs on medium", "an array of 4 jobs on medium",
                         "an array of 8 jobs on medium, 4 at a time",
                         "an array of 16 jobs on medium, 4 at a time",
                         "an array of 32 jobs on medium, 4 at a time",
                         "an array of 64 jobs on medium, 4 at a time"))
      << "sixteen times the nodes, and no more jobs than plans";
  limits_.most_array_tasks = 3;
  EXPECT_EQ(choices().size(), 4U) << "MaxArraySize forbids four";
  partitions_[0].most_nodes = 1;
  EXPECT_EQ(choices().size(), 2U);
}

TEST_F(Choices, of_many_small_jobs_wait_once_and_only_as_small_ones_do) {
  waits_ = short_below(0.4);
  const Choice best = choices().front();
  EXPECT_EQ(choice_text(best), "an array of 16 jobs on medium, 4 at a time");
  EXPECT_DOUBLE_EQ(best.run_s, 400) << "four rounds, in which each core solves a plan";
  EXPECT_EQ(best.wait_95_s, 60) << "those of the later rounds start as others end";
  EXPECT_EQ(best.limit_s, 300) << "each job asks for its own share only";
  EXPECT_EQ(best.cores, 16U) << "at a time";
}

TEST_F(Choices, know_the_run_and_what_it_costs) {
  partitions_[0].nodes = 1;
  const Choice one = choices().at(0);
  EXPECT_DOUBLE_EQ(one.run_s, 1600) << "64 plans on 4 cores";
  EXPECT_EQ(one.limit_s, 2400) << "a quarter and two minutes more, in steps of five minutes";
  EXPECT_DOUBLE_EQ(one.core_hours, 4 * 1600.0 / 3600);
  EXPECT_FALSE(one.done_s()) << "the wait is not known";
  EXPECT_THAT(reason_for_first(choices(), order_), HasSubstr("Too little of the waits is known"));
}

TEST_F(Choices, start_again_what_a_limit_stops) {
  limits_.most_array_tasks = 0;
  partitions_[0] = {"short", 1, 4, 0, 620, 0};
  waits_ = short_below(1000);
  const Choice one = choices().at(0);
  EXPECT_EQ(one.limit_s, 620);
  EXPECT_EQ(one.starts, 4U) << "1600 s in pieces of 500";
  EXPECT_EQ(one.wait_95_s, 240);
}

TEST_F(Choices, put_first_what_is_done_first) {
  EXPECT_DOUBLE_EQ(choices().front().run_s, 400) << "the shortest run, without waits";
  waits_ = short_below(3);
  EXPECT_EQ(choice_text(choices().front()), "an array of 4 jobs on medium");
  limits_.most_array_tasks = 0;
  const auto single = choices();
  EXPECT_EQ(choice_text(single.front()), "2 nodes of medium");
  EXPECT_EQ(single.front().wait_95_s, 60);
  EXPECT_DOUBLE_EQ(single.front().done_s().value(), 860);
  EXPECT_EQ(reason_for_first(single, order_),
            "2 nodes of medium runs for 13 min and waits 1 min (95 % of jobs at most); 4 nodes of "
            "medium would run for 7 min, but wait 2 h 00 min.");
  waits_ = short_below(1000);
  EXPECT_EQ(reason_for_first(choices(), order_),
            "Take 4 nodes of medium: done within 9 min with 95 % certainty.");
  order_ = ChoiceOrder::core_hours;
  EXPECT_THAT(reason_for_first(choices(), order_), HasSubstr("takes the fewest core hours"));
}

TEST_F(Choices, of_an_array_wait_for_its_last_job) {
  limits_.most_array_tasks = 4;
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
  limits_.most_array_tasks = 64;
  const auto all = choices();
  const auto widest = std::ranges::find(all, 64U, &Choice::jobs);
  ASSERT_NE(widest, all.end());
  EXPECT_EQ(widest->wait_95_s, 999) << "the longest, as no 1,000 waits tell of one in 1,250";
}

constexpr Schedule all_schedules[] = {Schedule::static_shares, Schedule::dynamic,
                                      Schedule::longest_first};

double replayed(const std::vector<double>& plans, Schedule schedule, std::size_t workers) {
  return Replay(plans, schedule).seconds(workers);
}

TEST(Replay, hands_out_plans_as_each_schedule_does) {
  const std::vector<double> plans{5, 1, 1, 1, 4};
  EXPECT_EQ(replayed(plans, Schedule::static_shares, 2), 6) << "5 + 1 beside 1 + 1 + 4";
  EXPECT_EQ(replayed(plans, Schedule::dynamic, 2), 7) << "5 beside 1 + 1 + 1 + 4";
  EXPECT_EQ(replayed(plans, Schedule::longest_first, 2), 6) << "5 + 1 beside 4 + 1 + 1";
  EXPECT_EQ(replayed({9, 9, 1, 1}, Schedule::static_shares, 2), 18);
}

TEST(Replay, takes_the_longest_plan_at_least_and_all_of_them_at_most) {
  const std::vector<double> plans{5, 1, 1, 1, 4};
  for (const Schedule schedule : all_schedules) {
    EXPECT_EQ(replayed(plans, schedule, 1), 12);
    EXPECT_EQ(replayed(plans, schedule, 5), 5);
    EXPECT_EQ(replayed(plans, schedule, 1'000'000'000), 5);
    EXPECT_EQ(replayed({}, schedule, 3), 0);
  }
}

TEST(Replay, knows_how_many_workers_suffice) {
  const std::vector<double> plans{1, 1, 1, 1, 5};
  EXPECT_EQ(Replay(plans, Schedule::longest_first).longest_plan_s(), 5);
  EXPECT_EQ(Replay(plans, Schedule::longest_first).sufficient_workers(), 2U);
  EXPECT_EQ(Replay(plans, Schedule::dynamic).sufficient_workers(), 5U);
  EXPECT_EQ(Replay(plans, Schedule::static_shares).sufficient_workers(), 5U);
}

TEST(Replay, knows_that_plans_take_longer_beside_others) {
  EXPECT_EQ(slowdown_beside_others(1.25, 1, 1), 1) << "as it was stored";
  EXPECT_EQ(slowdown_beside_others(1.25, 1, 8), 1.25);
  EXPECT_EQ(slowdown_beside_others(1.25, 4, 8), 1) << "it was beside others then, too";
  EXPECT_EQ(slowdown_beside_others(1.25, 4, 1), 0.8);
}

}  // namespace
}  // namespace wallheat
