#include "run/preparation.hpp"
#include "support/matchers.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

TEST(Preparation, takes_what_is_left_of_the_shard_and_forgets_failures_only_if_it_is_told_to) {
  const TemporaryDirectory directory;
  save_floor_plan(directory.path(), "solved", room(20, 30));
  const SharedPlanSource source = directory_source(directory.path());
  PlanResult solved;
  solved.id = "solved";
  solved.status = PlanStatus::converged;
  solved.input_stamp = source->stamp("solved");
  std::vector<PlanResult> rows(8, solved);
  for (std::uint32_t index = 0; index < rows.size(); ++index) rows[index].index = index;
  rows[2].status = rows[4].status = PlanStatus::failed;
  rows[2].failures = 2;
  rows[4].failures = 1;
  rows[4].attempts = 3;
  rows[6].status = rows[7].status = PlanStatus::pending;
  RunOptions options;
  options.max_attempts = 2;
  options.shard = {1, 2};
  const auto left = [&](bool retries) {
    options.retry_failed = retries;
    Preparation preparation{options, [](const std::string&) {}};
    preparation.source = source;
    preparation.take_rows([&](const Preparation::Take& take) {
      for (const PlanResult& row : rows) take(row);
    });
    EXPECT_EQ(preparation.tally.total, 4U);
    EXPECT_EQ(preparation.tally.restored, 1U);
    EXPECT_EQ(preparation.tally.given_up, retries ? 0U : 1U);
    std::vector<std::vector<int>> plans;
    for (const QueuedPlan& plan : preparation.plans)
      plans.push_back({static_cast<int>(plan.index), plan.attempts, plan.failures});
    return plans;
  };
  using Left = std::vector<std::vector<int>>;
  EXPECT_EQ(left(false), (Left{{4, 3, 1}, {6, 0, 0}}));
  EXPECT_EQ(left(true), (Left{{2, 0, 0}, {4, 3, 0}, {6, 0, 0}}));
}

}  // namespace
}  // namespace wallheat
