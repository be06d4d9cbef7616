#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/scaling.hpp"
#include "store/result_store.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "support/temporary_directory.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

nlohmann::json json_of_scaling(const Report& report) {
  std::ostringstream json;
  write_json(report, json);
  return nlohmann::json::parse(json.str());
}

std::vector<std::string> names_of(const Figure& figure) {
  std::vector<std::string> names;
  for (const Figure::Series& series : figure.series) names.push_back(series.name);
  return names;
}

TEST(Amdahl, gives_the_figures_of_the_documents) {
  EXPECT_NEAR(parallel_share(3.7, 16), 0.778, 0.0005);
  EXPECT_NEAR(largest_speedup(0.79), 4.76, 0.005);
  EXPECT_NEAR(parallel_share(6, 16), 0.889, 0.0005);
  EXPECT_NEAR(largest_speedup(parallel_share(6, 16)), 9.0, 0.05);
  const Scaling of_gpus = scaling_of("", {{1, 212}, {2, 140}, {3, 110}, {4, 105}, {8, 145}}, 212);
  const double speedups[] = {1, 1.51, 1.93, 2.02, 1.46};
  const double efficiencies[] = {100, 75.7, 64.2, 50.5, 18.3};
  const auto points = json_of_scaling(report_of({of_gpus}, ""))["points"];
  ASSERT_EQ(of_gpus.rows.size(), 5U);
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_NEAR(of_gpus.rows[row].speedup, speedups[row], 0.005);
    EXPECT_NEAR(points[row]["efficiency_pct"].get<double>(), efficiencies[row], 0.05);
  }
}

TEST(Amdahl, is_fitted_to_all_points) {
  std::vector<ScalingPoint> points;
  for (const std::size_t workers : {1U, 2U, 3U, 8U, 64U})
    points.push_back({workers, 100 * (0.1 + 0.9 / static_cast<double>(workers))});
  EXPECT_NEAR(scaling_of("", points, 100).parallel_share, 0.9, 1e-12);
  // Of two points the least squares of 1 - 1 / S = F (1 - 1 / p).
  EXPECT_NEAR(scaling_of("", {{2, 60}, {4, 50}}, 100).parallel_share,
              (0.4 * 0.5 + 0.5 * 0.75) / (0.25 + 0.5625), 1e-12);
  EXPECT_TRUE(std::isnan(scaling_of("", {{1, 5}}, 5).parallel_share));
}

TEST(Scaling, counts_the_fastest_of_several_runs) {
  const std::vector<ScalingPoint> points{{2, 7}, {1, 12}, {2, 5}, {1, 13}, {2, 8}};
  EXPECT_EQ(one_worker_seconds(points), 12);
  EXPECT_EQ(one_worker_seconds({{2, 7}}), std::nullopt);
  const auto json = json_of_scaling(report_of({scaling_of("", points, 12)}, "somewhere"));
  EXPECT_EQ(json["source"], "somewhere");
  ASSERT_EQ(json["points"].size(), 2U);
  EXPECT_EQ(json["points"][1]["workers"], 2);
  EXPECT_EQ(json["points"][1]["speedup"], 2.4);
  EXPECT_EQ(json["points"][1]["efficiency_pct"], 120);
  EXPECT_TRUE(json["largest_speedup"].is_null()) << "more than ideal knows no limit";
  EXPECT_TRUE(json["points"][0]["parallel_share"].is_null());
}

TEST(Scaling, of_a_replay_ends_at_the_longest_plan) {
  const Scaling scaling =
      scaling_of("dynamic", {{1, 100}, {2, 50}, {64, 4}, {128, 4}}, 100, {{4, 25}});
  EXPECT_TRUE(std::isnan(scaling.parallel_share)) << "Amdahl's law knows no longest plan";
  EXPECT_THAT(remarks_on(scaling),
              testing::ElementsAre("dynamic: no more than 25.00 times as fast as one worker: the "
                                   "longest plan takes 4.0000 s; 25 workers are enough"));
  const Report report = report_of({scaling}, "");
  const auto limits = json_of_scaling(report)["limits"][0];
  EXPECT_EQ(limits["schedule"], "dynamic");
  EXPECT_EQ(limits["largest_speedup"], 25);
  EXPECT_EQ(limits["sufficient_workers"], 25);
  EXPECT_THAT(
      names_of(*report.first<Figure>()),
      testing::ElementsAre("dynamic: replayed", "at most 25.00, by the longest plan", "ideal"));
}

TEST(Scaling, says_where_more_workers_are_slower) {
  const Scaling scaling = scaling_of("", {{1, 212}, {2, 140}, {3, 110}, {4, 105}, {8, 145}}, 212);
  EXPECT_THAT(remarks_on(scaling),
              testing::ElementsAre(
                  "8 workers are slower than 4: 145.00 s, not 105.00 s; the fit leaves them out"));
  EXPECT_EQ(scaling.parallel_share,
            scaling_of("", {{1, 212}, {2, 140}, {3, 110}, {4, 105}}, 212).parallel_share);
  EXPECT_THAT(remarks_on(scaling_of("", {{1, 100}, {2, 50}, {4, 51}}, 100)), testing::IsEmpty())
      << "noise";
  EXPECT_THAT(names_of(*report_of({scaling}, "").first<Figure>()),
              testing::ElementsAre("measured", HasSubstr("Amdahl with F = 0.6"), "ideal"));
}

TEST(Scaling, over_the_number_of_plans_tells_what_a_plan_takes) {
  const auto json = json_of_scaling(report_of_plan_counts({{4, 5, 10, 1, 0}, {4, 16, 64, 1, 0}}));
  EXPECT_EQ(json["workers"], 4);
  EXPECT_EQ(json["points"][0]["seconds_a_plan"], 0.5);
  EXPECT_EQ(json["points"][1]["plans"], 64);
  EXPECT_EQ(json["points"][1]["plans_a_second"], 4);
}

TEST(SecondsText, has_five_digits_and_no_exponent) {
  for (const auto& [seconds, text] : {std::pair(212.0, "212.00"),
                                      {36110.9, "36111"},
                                      {1.5e7, "15000000"},
                                      {0.01234567, "0.012346"},
                                      {0.0, "0.0000"},
                                      {std::nan(""), "-"}})
    EXPECT_EQ(seconds_text(seconds), text);
}

/// A result file of two plans.
class FinishedRun : public testing::Test {
 protected:
  [[nodiscard]] static Attributes end(int threads, const std::string& seconds) {
    return {{"plans_at_once", std::to_string(threads)}, {"solved", "1"}, {"seconds", seconds}};
  }
  [[nodiscard]] static PlanResult solved(std::uint32_t index) {
    PlanResult row;
    row.index = index;
    row.id = index == 0 ? "a" : "b";
    row.status = PlanStatus::converged;
    return row;
  }
  /// The first session stores plan a, the second plan b.
  std::string make(const std::string& name, const std::vector<Attributes>& ends) {
    const StorePlan plan{{"a", "b"}, {{"tolerance", "0.1"}}, false};
    const std::string file = (directory_ / name).string();
    for (std::size_t session = 0; session < ends.size(); ++session) {
      const Attributes start{
          {"started_utc", "2030-01-0" + std::to_string(session + 1) + "T00:00:00.000Z"}};
      ResultStore store = session == 0 ? ResultStore::create(file, plan, start, false)
                                       : ResultStore::resume(file, plan, start);
      const PlanResult row = solved(static_cast<std::uint32_t>(session));
      store.store({&row, 1});
      store.close(ends[session]);
    }
    return file;
  }
  static std::string refusal(const std::string& file) {
    return refusal_of<RunError>([&] { (void)finished_run(file, ResultReader(file)); });
  }
  TemporaryDirectory directory_;
};

TEST_F(FinishedRun, has_the_workers_and_the_time_of_all_its_sessions) {
  const std::string file = make("r.h5", {end(16, "2.5"), end(16, "4")});
  const ScalingPoint point = finished_run(file, ResultReader(file));
  EXPECT_EQ(point.workers, 16U);
  EXPECT_EQ(point.seconds, 6.5);
  EXPECT_EQ(point.plans, 2U);
}

TEST_F(FinishedRun, is_refused_where_its_time_says_nothing) {
  EXPECT_THAT(refusal(make("half.h5", {end(2, "3")})),
              HasSubstr("1 of 2 plans are not solved yet; finish it with --resume"));
  EXPECT_THAT(refusal(make("mixed.h5", {end(2, "3"), end(4, "3")})),
              HasSubstr("mixed.h5: its sessions had 2 and 4 workers"));
  EXPECT_THAT(refusal(make("killed.h5", {{}, end(4, "3")})), HasSubstr("was killed"));
}

}  // namespace
}  // namespace wallheat
