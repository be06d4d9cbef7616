#include <sys/fsuid.h>
#include <unistd.h>

#include "monitor/run_status.hpp"
#include "plans/plan_source.hpp"
#include "run/plan_selection.hpp"
#include "run/preparation.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

TEST(Preparation, QueuesUnsolvedPlansOfShard) {
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
  const auto queued = [&](bool retries) {
    options.retry_failed = retries;
    Preparation preparation{options, [](const std::string&) {}};
    preparation.source = source;
    preparation.collect_pending([&](const Preparation::RowCallback& take) {
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
  using Plans = std::vector<std::vector<int>>;  // index, attempts, failures
  EXPECT_EQ(queued(false), (Plans{{4, 3, 1}, {6, 0, 0}}));
  EXPECT_EQ(queued(true), (Plans{{2, 0, 0}, {4, 3, 0}, {6, 0, 0}}));
}

TEST(Preparation, RecordsExitStatusWhenStartFails) {
  const TemporaryDirectory directory;
  save_floor_plan(directory.path(), "7", room(20, 30));
  const std::string out = directory / "results.h5";
  const Finished run =
      run_program({"/bin/sh", "-c", "ulimit -f 1; exec \"$@\"", "sh", WALLHEAT_PROGRAM, "run", "7",
                   "--data", directory.path().string(), "--out", out});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, Mentions({"results.h5", "File too large"}));
  EXPECT_EQ(read_run_status(out + ".status").value().exit_status, 1);
}

class ChangedInputTest : public testing::Test {
 protected:
  /// Writes a plan and returns its row as solved.
  PlanResult save(const std::string& id, const FloorPlan& plan) {
    save_floor_plan(directory_.path(), id, plan);
    PlanResult row;
    row.id = id;
    row.status = PlanStatus::converged;
    row.input_hash = plan_hash(plan);
    row.input_stamp = source_->stamp(id);
    return row;
  }
  [[nodiscard]] std::vector<std::string> changed() const {
    InputChanges changes;
    for (const PlanResult& row : rows_) check_input_change(*source_, row, changes);
    std::vector<std::string> messages;
    for (const ChangedInput& change : changes) messages.push_back(change.id + ": " + change.why);
    return messages;
  }

  TemporaryDirectory directory_;
  SharedPlanSource source_ = directory_source(directory_.path());
  std::vector<PlanResult> rows_{save("7", room(20, 30)), save("8", room(21, 30))};
};

TEST_F(ChangedInputTest, DiffersFromCopyWithOtherStamp) {
  EXPECT_THAT(changed(), IsEmpty());
  std::filesystem::last_write_time(directory_ / "8_domain.npy", {});  // the same content
  EXPECT_NE(source_->stamp("8"), rows_[1].input_stamp);
  EXPECT_THAT(changed(), IsEmpty());
  FloorPlan other = room(21, 30);
  other.domain(0, 0) = 24;
  (void)save("8", other);
  const auto has_other_content = AllOf(StartsWith("8: "), Mentions("content"));
  EXPECT_THAT(changed(), ElementsAre(has_other_content));
  std::filesystem::remove(directory_ / "7_interior.npy");
  EXPECT_THAT(changed(),
              ElementsAre(AllOf(StartsWith("7: "), Mentions("7_interior.npy")), has_other_content));
}

TEST_F(ChangedInputTest, ThrowsWhenPlanSourceIsUnavailable) {
  source_ = directory_source(directory_ / "missing");
  EXPECT_THROW((void)changed(), SourceUnavailable);
}

TEST_F(ChangedInputTest, ThrowsWhenSystemErrorPreventsCheck) {
  std::filesystem::last_write_time(directory_ / "8_domain.npy", {});
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(directory_ / "8_domain.npy", std::filesystem::perms::none);
  ::setfsuid(65534);  // of this thread: root may open every file
  const std::string message = error_message_of<RunError>([&] { (void)changed(); });
  ::setfsuid(::geteuid());
  EXPECT_THAT(message, Mentions({"plan 8", "8_domain.npy", "Permission denied", "resume"}));
}

}  // namespace
}  // namespace wallheat
