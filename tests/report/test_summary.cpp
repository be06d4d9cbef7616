#include "report/summary.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

PlanResult solved(const std::string& id, double mean, double std, double above, double below) {
  PlanResult row;
  row.id = id;
  row.status = PlanStatus::converged;
  row.statistics = {mean, std, above, below};
  row.seconds = mean / 10;
  return row;
}

class OfFivePlans : public testing::Test {
 protected:
  OfFivePlans() {
    rows_ = {solved("a", 12, 2, 10, 80), solved("b", 14, 4, 50, 49.9), solved("c", 19, 6, 90, 50)};
    rows_.emplace_back().status = PlanStatus::failed;
    rows_.back().error = "its file is damaged";
    rows_.emplace_back().status = PlanStatus::empty;
  }
  std::vector<PlanResult> rows_;
};

TEST_F(OfFivePlans, tells_the_spread_of_the_means_from_that_within_a_plan) {
  const Summary summary = summary_of(rows_of(rows_));
  EXPECT_EQ(summary.plans, 5U);
  EXPECT_DOUBLE_EQ(summary.mean_of_means, 15);
  EXPECT_DOUBLE_EQ(summary.median_of_means, 14);
  EXPECT_DOUBLE_EQ(summary.std_of_means, std::sqrt(26.0 / 3));
  EXPECT_DOUBLE_EQ(summary.mean_of_stds, 4);
  EXPECT_EQ(summary.half_above, 2U);
  EXPECT_EQ(summary.half_below, 2U);
}

TEST_F(OfFivePlans, says_the_same_as_json) {
  const Json json = to_json(summary_of(rows_of(rows_)), nullptr, true);
  EXPECT_EQ(json["by_status"]["converged"], 3);
  EXPECT_EQ(json["by_status"]["pending"], 0);
  EXPECT_EQ(json["mean_of_means"], 15);
  EXPECT_EQ(json["slowest"][0]["id"], "c");
  EXPECT_EQ(json["failed"][0]["error"], "its file is damaged");
  EXPECT_FALSE(json.contains("wall_seconds"));
  const Json none = to_json(summary_of([](const auto&) {}), nullptr, true);
  EXPECT_THAT(json_text(none), HasSubstr("\"mean_of_means\": null"));
}

TEST_F(OfFivePlans, names_the_plan_whose_solver_held_the_most_memory) {
  EXPECT_EQ(peak_memory_text(summary_of(rows_of(rows_))), "") << "no row tells";
  EXPECT_TRUE(to_json(summary_of(rows_of(rows_)), nullptr, true)["peak_memory"].is_null());
  rows_[0].peak_memory = 23'400'000;
  rows_[3].id = "d";
  rows_[3].peak_memory = 1'250'000'000;  // of a plan that failed, too
  const Summary summary = summary_of(rows_of(rows_));
  EXPECT_EQ(peak_memory_text(summary), "1.25 GB, for plan d");
  const Json json = to_json(summary, nullptr, true)["peak_memory"];
  EXPECT_EQ(json["bytes"], 1'250'000'000);
  EXPECT_EQ(json["id"], "d");
}

TEST(WallTime, names_the_rank_that_held_the_most_memory) {
  const Attributes first{{"seconds", "5"}, {"rank_memory", "0:45200000 1:31000000"}};
  const Attributes second{{"seconds", "5"}, {"rank_memory", "0:40000000 12:50000000"}};
  const Attributes silent{{"seconds", "5"}, {"rank_memory", ""}};
  EXPECT_EQ(rank_memory_text(wall_time({silent, Attributes()})), "");
  const WallTime time = wall_time({first, second, silent});
  EXPECT_EQ(rank_memory_text(time), "50 MB, of rank 12");
  const Json json = to_json(summary_of([](const auto&) {}), &time, true)["rank_memory"];
  EXPECT_EQ(json["bytes"], 50'000'000);
  EXPECT_EQ(json["rank"], 12);
}

TEST_F(OfFivePlans, are_drawn_in_bins_of_a_degree) {
  const std::string svg = histogram_plot(summary_of(rows_of(rows_)), "results \"of\" `today`\\n")
                              .draw(PlotFormat::svg, 800, 500);
  EXPECT_THAT(svg, StartsWith(beginning_of(PlotFormat::svg)));
  for (const char* part :
       {"mean 15.00 °C", "median 14.00 °C", "below 15 °C: 66.7 %, above 18 °C: 66.7 %", "3 plans",
        "`today`\\n", "plans in 1 °C"})
    EXPECT_THAT(svg, HasSubstr(part));
  EXPECT_THROW((void)histogram_plot(summary_of([](const auto&) {}), "none"), RunError);
}

TEST(Plot, comes_in_three_formats_by_the_files_ending) {
  EXPECT_EQ(plot_format("plot", "a.PNG"), PlotFormat::png);
  EXPECT_THROW((void)plot_format("plot", "a.gif"), UsageError);
  EXPECT_THROW((void)plot_format("plot", "png"), UsageError);
  for (const PlotFormat format : {PlotFormat::png, PlotFormat::svg, PlotFormat::pdf}) {
    Plot plot;
    const std::string data = plot.add_data({{1, 2}, {2, 3}});
    plot.add("plot " + data + " with lines");
    EXPECT_THAT(plot.draw(format, 400, 300), StartsWith(beginning_of(format)));
  }
}

TEST(Plot, says_what_gnuplot_did_not_understand) {
  Plot plot;
  plot.add("plot nonsense(");
  EXPECT_THAT(refusal_of<RunError>([&] { (void)plot.draw(PlotFormat::svg, 400, 300); }),
              HasSubstr("gnuplot failed"));
}

}  // namespace
}  // namespace wallheat
