#include <unistd.h>

#include <fstream>
#include <string>

#include "run/forecast.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

class ForecastTest : public testing::Test {
 protected:
  void save(const std::string& id, const FloorPlan& plan) {
    save_floor_plan(directory_.path(), id, plan);
  }
  /// What it says until it has spoken of plan `last`.
  static std::vector<std::pair<std::uint32_t, double>> all(Forecast& forecast, std::uint32_t last) {
    std::vector<std::pair<std::uint32_t, double>> estimates;
    wait_until("the last estimate", [&] {
      for (const auto& estimate : forecast.take()) estimates.push_back(estimate);
      return !estimates.empty() && estimates.back().first == last;
    });
    return estimates;
  }

  TemporaryDirectory directory_;
};

TEST_F(ForecastTest, estimates_plans_in_order_and_passes_over_those_it_cannot_read) {
  save("small", room(20, 30));
  save("large", room(60, 70));
  save("wall", random_plan(8, 8, 0, 1));
  std::ofstream(directory_ / "broken_interior.npy") << "not an array";
  std::filesystem::remove(directory_ / "large_domain.npy");  // the mask suffices
  const Limits limits{1e-3, 500};
  const std::vector<std::string> ids{"large", "missing", "broken", "../small", "wall", "small"};
  const auto id_of = [&](std::uint32_t plan) { return ids[plan]; };
  const auto source = directory_source(directory_.path());
  Forecast forecast(source, ids.size(), id_of, limits);
  std::vector<std::uint32_t> order;
  for (const auto& [index, updates] : all(forecast, 5)) {
    order.push_back(index);
    EXPECT_EQ(updates, estimate_work(source->interior(ids[index], 5000), limits).updates);
  }
  EXPECT_THAT(order, ElementsAre(0U, 4U, 5U));
  EXPECT_TRUE(forecast.take().empty()) << "each estimate is handed out once";
}

TEST_F(ForecastTest, needs_only_the_number_of_cells_for_the_steady_state) {
  save("room", room(20, 30));
  save("wall", random_plan(8, 8, 0, 1));
  const std::vector<std::string> ids{"room", "missing", "wall"};
  const auto id_of = [&](std::uint32_t plan) { return ids[plan]; };
  Forecast forecast(directory_source(directory_.path()), ids.size(), id_of, {}, SolverKind::steady);
  const auto estimates = all(forecast, 2);
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(estimates[0].second, estimate_steady_work(count_interior(room(20, 30)), {}).updates);
  EXPECT_EQ(estimates[1].second, 0);
}

TEST_F(ForecastTest, can_be_given_up_before_it_is_done) {
  save("plan", room(500, 500));
  constexpr std::size_t plans = 1'000'000;  // many minutes of reading
  ::alarm(60);                              // kills the test where the forecast does not end
  {
    Forecast forecast(directory_source(directory_.path()), plans,
                      [](std::uint32_t) { return "plan"; }, {});
    wait_until("an estimate", [&] { return !forecast.take().empty(); });
  }
  EXPECT_GT(::alarm(0), 0U);
}

}  // namespace
}  // namespace wallheat
