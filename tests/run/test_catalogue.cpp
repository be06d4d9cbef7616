#include "plans/plan_source.hpp"
#include "run/catalogue.hpp"
#include "support/matchers.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

class ChangedInputTest : public testing::Test {
 protected:
  /// The row of a plan that is solved.
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
    for (const PlanResult& row : rows_) look_for_change(*source_, row, changes);
    std::vector<std::string> texts;
    for (const ChangedInput& change : changes) texts.push_back(change.id + ": " + change.why);
    return texts;
  }

  TemporaryDirectory directory_;
  SharedPlanSource source_ = directory_source(directory_.path());
  std::vector<PlanResult> rows_{save("7", room(20, 30)), save("8", room(21, 30))};
};

TEST_F(ChangedInputTest, is_told_from_a_copy_with_another_stamp) {
  EXPECT_THAT(changed(), IsEmpty());
  std::filesystem::last_write_time(directory_ / "8_domain.npy", {});  // the same content
  EXPECT_NE(source_->stamp("8"), rows_[1].input_stamp);
  EXPECT_THAT(changed(), IsEmpty());
  FloorPlan other = room(21, 30);
  other.domain(0, 0) = 24;
  (void)save("8", other);
  EXPECT_THAT(changed(), ElementsAre("8: other content"));
  std::filesystem::remove(directory_ / "7_interior.npy");
  EXPECT_THAT(changed(), ElementsAre(StartsWith("7: "), "8: other content"));
}

TEST_F(ChangedInputTest, is_not_seen_in_a_directory_that_is_away) {
  source_ = directory_source(directory_ / "away");
  EXPECT_THROW((void)changed(), SourceUnavailable);
}

}  // namespace
}  // namespace wallheat
