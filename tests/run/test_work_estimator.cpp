#include <unistd.h>

#include <fstream>
#include <string>

#include "plans/work_estimate.hpp"
#include "run/work_estimator.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/sparse_array.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

class WorkEstimatorTest : public testing::Test {
 protected:
  void save(const std::string& id, const FloorPlan& plan) {
    save_floor_plan(directory_.path(), id, plan);
  }
  /// Returns the estimates up to that of plan `last`.
  static std::vector<std::pair<QueueIndex, double>> all(WorkEstimator& found, QueueIndex last) {
    std::vector<std::pair<QueueIndex, double>> estimates;
    wait_until("the last estimate", [&] {
      for (const auto& estimate : found.take_new()) estimates.push_back(estimate);
      return !estimates.empty() && estimates.back().first == last;
    });
    return estimates;
  }

  TemporaryDirectory directory_;
};

TEST_F(WorkEstimatorTest, EstimatesReadablePlansInOrder) {
  save("small", room(20, 30));
  save("large", room(60, 70));
  save("wall", random_plan(8, 8, 0, 1));
  std::ofstream(directory_ / "broken_interior.npy") << "not an array";
  save_sparse(directory_ / "huge_interior.npy", "|b1", 1, 12000);  // needs much memory
  std::filesystem::remove(directory_ / "large_domain.npy");        // the mask suffices
  const SolveParameters limits{1e-3, 500};
  const QueueVector<std::string> ids{"large", "missing", "broken", "huge", "wall", "small"};
  const auto id_of = [&](QueueIndex plan) { return ids[plan]; };
  const auto source = directory_source(directory_.path());
  WorkEstimator found(source, ids.size(), id_of, limits);
  std::vector<QueueIndex> order;
  for (const auto& [index, updates] : all(found, QueueIndex{5})) {
    order.push_back(index);
    EXPECT_EQ(updates, estimate_work(source->interior(ids[index], 5000), limits).updates);
  }
  EXPECT_THAT(order, ElementsAre(QueueIndex{0}, QueueIndex{4}, QueueIndex{5}));
  EXPECT_TRUE(found.take_new().empty()) << "each estimate is handed out once";
}

TEST_F(WorkEstimatorTest, NeedsOnlyCellCountForSteadyState) {
  save("room", room(20, 30));
  save("wall", random_plan(8, 8, 0, 1));
  const QueueVector<std::string> ids{"room", "missing", "wall"};
  const auto id_of = [&](QueueIndex plan) { return ids[plan]; };
  WorkEstimator found(directory_source(directory_.path()), ids.size(), id_of, {},
                      SolverKind::steady);
  const auto estimates = all(found, QueueIndex{2});
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(estimates[0].second, estimate_steady_work(count_interior(room(20, 30)), {}).updates);
  EXPECT_EQ(estimates[1].second, 0);
}

TEST_F(WorkEstimatorTest, StopsReadingWhenDestroyed) {
  save("plan", room(500, 500));
  constexpr std::size_t plans = 1'000'000;  // many minutes of reading
  ::alarm(60);                              // kills the test if this does not end
  {
    WorkEstimator found(directory_source(directory_.path()), plans,
                        [](QueueIndex) { return "plan"; }, {});
    wait_until("an estimate", [&] { return !found.take_new().empty(); });
  }
  EXPECT_GT(::alarm(0), 0U);
}

}  // namespace
}  // namespace wallheat
