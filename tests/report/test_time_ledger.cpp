#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "report/time_ledger.hpp"

namespace wallheat {
namespace {

PlanResult plan_of_thread(std::int32_t rank, std::int32_t thread, double started_s,
                          double seconds) {
  PlanResult row;
  row.status = PlanStatus::converged;
  row.rank = rank;
  row.thread = thread;
  row.started_s = started_s;
  row.seconds = seconds;
  row.cpu_s = seconds / 4;
  row.phases.read_s = static_cast<float>(seconds / 4);
  row.phases.solve_s = static_cast<float>(seconds / 2);
  return row;
}

double entry(const TimeLedger& ledger, const std::string& part) {
  for (std::size_t i = 0; i < ledger_names.size(); ++i)
    if (std::string(ledger_names.at(i)).find(part) != std::string::npos)
      return ledger.seconds.at(i);
  ADD_FAILURE() << "no entry " << part;
  return 0;
}

double sum(const TimeLedger& ledger) {
  return std::accumulate(ledger.seconds.begin(), ledger.seconds.end(), 0.0);
}

TEST(Lanes, hold_the_plans_of_a_thread_in_order) {
  std::vector<PlanResult> rows{plan_of_thread(2, 0, 5, 1), plan_of_thread(1, 0, 3, 1),
                               plan_of_thread(2, 0, 1, 1)};
  rows.emplace_back();  // pending
  rows.push_back(plan_of_thread(1, 1, 0, 1));
  rows.back().started_s = std::nan("");  // of a version that did not tell
  const auto lanes = lanes_of(rows_of(rows));
  ASSERT_EQ(lanes.size(), 2U);
  EXPECT_EQ(lanes[0].rank, 1);
  EXPECT_EQ(lanes[1].plans.front().started_s, 1);
}

TEST(TimeLedger, adds_up_to_the_time_of_all_threads) {
  // Two threads of ten seconds: one begins after 1 s, waits from 5 to 6 and ends at 8; the other
  // ends at 4, and is then 4 s without work, 3 of them at a plan that failed.
  const std::vector<PlanResult> rows{plan_of_thread(1, 0, 1, 4), plan_of_thread(1, 0, 6, 2),
                                     plan_of_thread(1, 1, 0, 4)};
  const auto ledgers = ledgers_of(lanes_of(rows_of(rows)),
                                  {{{"seconds", "10"}, {"threads", "2"}, {"failed_seconds", "3"}}});
  ASSERT_EQ(ledgers.size(), 1U);
  EXPECT_DOUBLE_EQ(ledgers[0].total_s(), 20);
  EXPECT_NEAR(sum(ledgers[0]), 20, 1e-9);
  EXPECT_NEAR(ledgers[0].cpu_s, 2.5, 1e-9);
  for (const auto& [name, seconds] : {std::pair("solving", 5.0),
                                      {"reading", 2.5},
                                      {"other work", 2.5},
                                      {"start", 1.0},
                                      {"between", 1.0},
                                      {"failures", 3.0},
                                      {"no work left", 1.0},
                                      {"end of the run", 4.0}})
    EXPECT_NEAR(entry(ledgers[0], name), seconds, 1e-6) << name;
}

TEST(TimeLedger, adds_up_whatever_the_clocks_say) {
  std::vector<PlanResult> rows;
  for (int i = 0; i < 50; ++i) rows.push_back(plan_of_thread(1, i % 3, i * 0.7 - 2, 1 + i % 4));
  const auto ledgers = ledgers_of(lanes_of(rows_of(rows)), {{{"seconds", "20"},
                                                             {"threads", "5"},
                                                             {"failed_seconds", "1000"},
                                                             {"repeated_seconds", "1000"}}});
  ASSERT_EQ(ledgers.size(), 1U);
  EXPECT_NEAR(sum(ledgers[0]), 100, 1e-6);
  for (const double seconds : ledgers[0].seconds) EXPECT_GE(seconds, -1e-9);
}

TEST(TimeLedger, says_what_solving_on_gpus_was_spent_on) {
  const std::vector<PlanResult> rows{plan_of_thread(1, 0, 1, 4), plan_of_thread(1, 1, 1, 8)};
  Attributes session{{"seconds", "10"},
                     {"threads", "2"},
                     {"gpu_host_seconds", "1"},
                     {"gpu_upload_seconds", "0.25"},
                     {"gpu_kernel_seconds", "2"},
                     {"gpu_download_seconds", "0.5"},
                     {"gpu_waiting_seconds", "0.25"}};
  const auto of_session = [&] { return ledgers_of(lanes_of(rows_of(rows)), {session}).at(0); };
  EXPECT_NEAR(sum(of_session()), 20, 1e-9);
  // Of 6 s of solving, 4 are on GPUs.
  for (const auto& [name, seconds] :
       {std::pair("solving", 2.0), {"kernels", 2.0}, {"upload", 0.25}, {"driver", 0.25}})
    EXPECT_NEAR(entry(of_session(), name), seconds, 1e-6) << name;
  session["gpu_kernel_seconds"] = "9";  // more than all solving
  EXPECT_NEAR(sum(of_session()), 20, 1e-9);
  EXPECT_NEAR(entry(of_session(), "kernels"), 6 * 9.0 / 11, 1e-6);
}

TEST(TimeLedger, leaves_out_sessions_that_were_killed) {
  std::vector<PlanResult> rows{plan_of_thread(1, 0, 1, 4), plan_of_thread(1, 0, 1, 2)};
  rows[1].session = 1;
  const auto ledgers =
      ledgers_of(lanes_of(rows_of(rows)), {{{"started_utc", "?"}}, {{"seconds", "10"}}});
  ASSERT_EQ(ledgers.size(), 1U);
  EXPECT_EQ(ledgers[0].session, 1U);
}

TEST(BusyShares, are_those_of_each_stretch_of_time) {
  const std::vector<PlanResult> rows{plan_of_thread(1, 0, 1, 2), plan_of_thread(1, 0, 3, 0.5)};
  EXPECT_THAT(busy_shares(lanes_of(rows_of(rows)).at(0), 4, 4), testing::ElementsAre(0, 1, 1, 0.5));
}

}  // namespace
}  // namespace wallheat
