#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "report/bench_report.hpp"
#include "report/gnuplot.hpp"
#include "report/histogram.hpp"
#include "report/summary.hpp"
#include "report/time_breakdown.hpp"
#include "support/matchers.hpp"
#include "support/report_values.hpp"
#include "wallheat/error.hpp"

// Reports of `summary` and `bench`, time breakdowns, histograms and plots.

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

PlanResult failed(const std::string& id, const std::string& error) {
  PlanResult row;
  row.id = id;
  row.status = PlanStatus::failed;
  row.error = error;
  return row;
}

std::vector<PlanResult> five_plans() {
  std::vector<PlanResult> rows{solved("a", 12, 2, 10, 80), solved("b", 14, 4, 50, 49.9),
                               solved("c", 19, 6, 90, 50), failed("d", "its file is damaged")};
  rows.emplace_back().status = PlanStatus::empty;
  return rows;
}

TEST(Summary, ReportsStatisticsOfResults) {
  std::vector<PlanResult> rows = five_plans();
  rows[0].peak_memory = 23'400'000;
  rows[3].peak_memory = 1'250'000'000;  // memory of failed plans counts
  const Report report = summary_report({.rows = rows_of(rows)});
  for (const auto& [key, value] : {std::pair("plans", Value(5)),
                                   {"converged", Value(3)},
                                   {"pending", Value(0)},
                                   {"mean_of_means", Value(15.0)},
                                   {"median_of_means", Value(14.0)},
                                   {"std_of_means", Value(std::sqrt(26.0 / 3))},
                                   {"mean_of_stds", Value(4.0)},
                                   {"half_above", Value(2)},
                                   {"half_below", Value(2)},
                                   {"wall_seconds", Value()},
                                   {"peak_memory", Value(1'250'000'000)},
                                   {"peak_memory_id", Value("d")}})
    EXPECT_EQ(value_of(report, key), value) << key;
  EXPECT_EQ(cell_of(report, "slowest", 0, "id"), Value("c"));
  EXPECT_EQ(cell_of(report, "failed_plans", 0, "error"), Value("its file is damaged"));
  rows.resize(1);
  EXPECT_THAT(text_of(summary_report({.rows = rows_of(rows)})), Mentions({"1 plan", "100.0 %"}));
}

TEST(Summary, MarksMeanInHistogram) {
  const std::vector<PlanResult> rows = five_plans();
  const Report report = summary_report({.rows = rows_of(rows)});
  const Figure& figure = *report.first<Figure>();
  EXPECT_THAT(figure.y.name, Mentions({"plans", "0.5 °C"}));
  EXPECT_THAT(figure.series.at(1).x, ElementsAre(15, 15)) << "mean";
  EXPECT_THAT(figure.series.at(2).x, ElementsAre(14, 14)) << "median";
  EXPECT_THAT(draw(report, PlotFormat::svg),
              Mentions({"mean", "15.00 °C", "median", "14.00 °C", "3 plans"}));
  EXPECT_THAT(summary_report({.rows = [](const auto&) {}}).first<Figure>()->series, IsEmpty());
}

TEST(Summary, CountsOnlyPlansInBinsInHeading) {
  const std::vector<PlanResult> rows{solved("a", 14, 2, 10, 80), solved("b", 14.1, 2, 10, 80),
                                     solved("c", 14.2, 2, 10, 80), solved("d", 14.3, 2, 10, 80),
                                     solved("e", 90, 2, 90, 1)};
  const Report report = summary_report({.rows = rows_of(rows)});
  ASSERT_THAT(rows_of(report, "outliers"), SizeIs(1));
  EXPECT_THAT(table_of(report, "histogram").name, Mentions("4 of 5 plans"));
}

TEST(Summary, DistinguishesUnknownFromFarResults) {
  std::vector<PlanResult> rows{solved("a", 14, 2, 10, 80), solved("b", 14, 2, 10, 80)};
  rows[1].error_estimate = 12;
  const Report report = summary_report({.rows = rows_of(rows)});
  EXPECT_EQ(value_of(report, "far_from_steady"), Value(1));
  EXPECT_EQ(value_of(report, "unknown_error"), Value(1));
}

TEST(Summary, ListsNoIterationsThatProgramDidNotReport) {
  std::vector<PlanResult> rows{solved("a", 14, 2, 10, 80), solved("b", 14, 2, 10, 80)};
  for (PlanResult& row : rows) row.solver = "command 0123";
  rows[0].seconds = 9;
  rows[1].iterations = 7;
  constexpr std::size_t iterations = 2;
  const auto slowest = rows_of(summary_report({.rows = rows_of(rows)}), "slowest");
  ASSERT_THAT(slowest, SizeIs(2));
  EXPECT_FALSE(slowest[0].at(iterations).is_known());
  EXPECT_EQ(slowest[1].at(iterations), Value(7));
}

TEST(Summary, StatesWhichPlansAveragesCover) {
  const std::vector<PlanResult> rows = five_plans();
  const Report all = summary_report({.rows = rows_of(rows)});
  EXPECT_THAT(messages_of(all), Contains(Mentions("3 of 5 plans"))) << "one failed, one is empty";
  EXPECT_FALSE(value_of(all, "where").is_known());
  const std::string where = "id = 'a'";
  const Report one = summary_report({.rows = rows_where(where, rows_of(rows)), .where = where});
  EXPECT_EQ(value_of(one, "where"), Value(where));
  EXPECT_EQ(value_of(one, "mean_of_means"), Value(12.0));
}

TEST(Summary, GroupsFailuresByCause) {
  const std::vector<PlanResult> rows{failed("a", "plan a has no file"),
                                     failed("b", "plan b has no file"),
                                     failed("c", "plan c is none")};
  const Report report = summary_report({.rows = rows_of(rows)});
  const auto causes = rows_of(report, "failures");
  ASSERT_THAT(causes, SizeIs(2));
  EXPECT_THAT(causes[0], ElementsAre(Value(2), Value("plan ID has no file"), Value("a, b"),
                                     Value("wallheat solve a --data PLANS")));
  EXPECT_EQ(causes[1].at(1), Value("plan c is none"));
}

TEST(WallTime, NamesRankWithLargestMemory) {
  const Attributes first{{"seconds", "5"}, {"rank_memory", "0:45200000 1:31000000"}};
  const Attributes second{{"seconds", "5"}, {"rank_memory", "0:40000000 12:50000000"}};
  const Attributes unknown{{"seconds", "5"}, {"rank_memory", ""}};
  EXPECT_EQ(wall_time({unknown, Attributes()}).rank_memory, 0) << "unknown";
  EXPECT_EQ(wall_time({first, second, unknown}).rank_memory, 50'000'000);
  EXPECT_EQ(wall_time({first, second, unknown}).rank, 12);
}

TEST(WallTime, CountsConcurrentShardsOnce) {
  const auto shard = [](const std::string& minute) {
    return Attributes{{"seconds", "100"}, {"started_utc", "2030-01-02T03:" + minute + ":00.000Z"}};
  };
  EXPECT_EQ(wall_time({shard("00"), shard("01")}).seconds, 160);
}

TEST(BenchReport, NamesSizeFromWhichGpuIsFaster) {
  GpuBench bench;
  bench.flows = {{1, 10, 2, 1e12}};
  bench.sides = {{32, 20, 10}, {64, 10, 20}, {128, 20, 10}, {256, 20, 10}};
  const Report report = make_report(bench);
  EXPECT_DOUBLE_EQ(std::get<double>(cell_of(report, "flows", 0, "giga_updates_per_s")), 500);
  EXPECT_EQ(cell_of(report, "flows", 0, "plans_per_s"), Value(5.0));
  EXPECT_THAT(messages_of(report), ElementsAre(Mentions({"GPU", "128 x 128"})));
  bench.sides.resize(2);
  EXPECT_THAT(messages_of(make_report(bench)),
              ElementsAre(AllOf(Mentions("GPU"), Not(testing::ContainsRegex("[0-9]")))))
      << "no size, because the GPU is slower for the largest one";
}

TEST(BenchReport, AveragesTwoMiddleTimes) {
  CpuBench bench;
  bench.plans = {{.id = "a", .interior_cells = 9, .cpu_s = {1, 2, 4, 9}}};
  EXPECT_EQ(cell_of(make_report(bench), "plans", 0, "cpu_seconds_median"), Value(3.0));
}

TEST(Histogram, FindsOutliers) {
  EXPECT_THAT(histogram_of({15, 14, 1e7, 16, 15}).outliers, ElementsAre(2U));
  EXPECT_THAT(histogram_of({0, 0, 0, 0.5, 0, 0}).outliers, ElementsAre(3U));
  EXPECT_THAT(histogram_of({15, 14, 1e7, 16, 15}, 16, false).outliers, IsEmpty());
  EXPECT_THAT(histogram_of({15, NAN, 16, -INFINITY}).outliers, ElementsAre(1U, 3U));
  EXPECT_THAT(histogram_of({NAN}).bins, IsEmpty());
  EXPECT_THAT(histogram_of({}).bins, IsEmpty());
}

TEST(Histogram, HasAtMostAQuarterOfNumbersAsOutliers) {
  EXPECT_THAT(histogram_of({14, 15, 15.001, 16}).outliers, IsEmpty()) << "half of them are not far";
  EXPECT_THAT(histogram_of({15, 15, 15, 900}).outliers, ElementsAre(3U));
  const Histogram histogram = histogram_of({15, 14, NAN, 1e7, 16, 15});
  EXPECT_EQ(histogram.count(), 4U);
  EXPECT_THAT(histogram.outliers, ElementsAre(2U, 3U));
}

TEST(Histogram, CountsEveryValueInAtMostSixteenBins) {
  constexpr double largest = std::numeric_limits<double>::max();
  std::vector<std::vector<double>> samples{{1e17, 1e17, 1e17},
                                           {0, 0},
                                           {0, std::numeric_limits<double>::denorm_min()},
                                           {-largest, -largest, largest, largest}};
  std::mt19937 random(7);
  for (int exponent = -300; exponent <= 300; exponent += 4)
    for (const std::size_t count : {1U, 2U, 3U, 10U, 400U})
      for (double& value : samples.emplace_back(count))
        value = std::pow(10.0, exponent) * std::uniform_real_distribution<>(-3, 40)(random);
  for (const std::vector<double>& values : samples) {
    const Histogram histogram = histogram_of(values);
    EXPECT_LE(histogram.bins.size(), 16U) << values[0];
    EXPECT_GE(histogram.bins.size(), 1U) << values[0];
    std::size_t counted = histogram.outliers.size();
    for (const auto& [from, to, count] : histogram.bins) {
      EXPECT_LT(from, to) << values[0];
      counted += count;
    }
    EXPECT_EQ(counted, values.size()) << values[0];
  }
}

TEST(Plot, ChoosesFormatByFileExtension) {
  EXPECT_EQ(plot_format("plot", "a.PNG"), PlotFormat::png);
  EXPECT_THROW((void)plot_format("plot", "png"), UsageError);
}

TEST(Plot, WritesCodePointOfCharactersWithoutFont) {
  const auto png = [](const std::string& title) {
    Plot plot(400, 300);
    plot.add("set title {}", Plot::quoted(title));
    plot.add("plot 1");
    return plot.draw(PlotFormat::png);
  };
  EXPECT_EQ(png("plan \uE000"), png("plan U+E000")) << "a private-use character";
  EXPECT_NE(png("plan é"), png("plan e"));
}

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

/// Returns the seconds of the first category whose name contains this word.
double seconds_of(const TimeBreakdown& ledger, const std::string& word) {
  const auto found = std::ranges::find_if(
      ledger.seconds, [&](const auto& category) { return contains_fact(category.first, word); });
  EXPECT_NE(found, ledger.seconds.end()) << word;
  return found != ledger.seconds.end() ? found->second : std::nan("");
}

/// Returns the time breakdown of the only session.
TimeBreakdown ledger_of(const std::vector<PlanResult>& rows, const Attributes& session) {
  const auto ledgers = time_breakdowns(slot_timelines(rows_of(rows)), {session});
  EXPECT_EQ(ledgers.size(), 1U);
  return ledgers.at(0);
}

double sum(const TimeBreakdown& ledger) {
  double all = 0;
  for (const auto& [name, seconds] : ledger.seconds) all += seconds;
  return all;
}

TEST(TimeBreakdown, AddsUpToTimeOfAllThreads) {
  // Two threads of ten seconds. The first one starts after 1 s, waits from 5 to 6 s and ends after
  // 8 s. The second one ends after 4 s and has no results in the next 4 s, 3 s of which it spends
  // on a failed plan.
  const std::vector<PlanResult> rows{plan_of_thread(1, 0, 6, 2), plan_of_thread(1, 1, 0, 4),
                                     plan_of_thread(1, 0, 1, 4), PlanResult()};  // a pending plan
  const TimeBreakdown ledger =
      ledger_of(rows, {{"seconds", "10"}, {"threads", "2"}, {"failed_seconds", "3"}});
  EXPECT_DOUBLE_EQ(ledger.total_s(), 20);
  EXPECT_NEAR(sum(ledger), 20, 1e-9);
  EXPECT_NEAR(ledger.cpu_s, 2.5, 1e-9);
  for (const auto& [name, seconds] : {std::pair("solving", 5.0),
                                      {"reading", 2.5},
                                      {"other", 2.5},
                                      {"start", 1.0},
                                      {"between", 1.0},
                                      {"failed", 3.0},
                                      {"no plans", 1.0},
                                      {"end", 4.0}})
    EXPECT_NEAR(seconds_of(ledger, name), seconds, 1e-6) << name;
}

TEST(TimeBreakdown, AddsUpDespiteInconsistentClocks) {
  std::vector<PlanResult> rows;
  for (int i = 0; i < 50; ++i) rows.push_back(plan_of_thread(1, i % 3, i * 0.7 - 2, 1 + i % 4));
  const TimeBreakdown ledger = ledger_of(rows, {{"seconds", "20"},
                                                {"threads", "5"},
                                                {"failed_seconds", "1000"},
                                                {"repeated_seconds", "1000"}});
  EXPECT_NEAR(sum(ledger), 100, 1e-6);
  for (const auto& [name, seconds] : ledger.seconds) EXPECT_GE(seconds, -1e-9) << name;
}

TEST(TimeBreakdown, SplitsGpuTimeByActivity) {
  const std::vector<PlanResult> rows{plan_of_thread(1, 0, 1, 4), plan_of_thread(1, 1, 1, 8)};
  Attributes session{{"seconds", "10"},
                     {"threads", "2"},
                     {"gpu_host_seconds", "1"},
                     {"gpu_upload_seconds", "0.25"},
                     {"gpu_kernel_seconds", "2"},
                     {"gpu_download_seconds", "0.5"},
                     {"gpu_waiting_seconds", "0.25"}};
  EXPECT_NEAR(sum(ledger_of(rows, session)), 20, 1e-9);
  // 4 s of 6 s of solving are spent on GPUs.
  for (const auto& [name, seconds] :
       {std::pair("solving", 2.0), {"kernels", 2.0}, {"upload", 0.25}, {"driver", 0.25}})
    EXPECT_NEAR(seconds_of(ledger_of(rows, session), name), seconds, 1e-6) << name;
  session["gpu_kernel_seconds"] = "9";  // more than all solving
  EXPECT_NEAR(sum(ledger_of(rows, session)), 20, 1e-9);
  EXPECT_NEAR(seconds_of(ledger_of(rows, session), "kernels"), 6 * 9.0 / 11, 1e-6);
}

TEST(TimeBreakdown, SkipsKilledSessions) {
  std::vector<PlanResult> rows{plan_of_thread(1, 0, 1, 4), plan_of_thread(1, 0, 1, 2)};
  rows[1].session = 1;
  const auto ledgers =
      time_breakdowns(slot_timelines(rows_of(rows)), {{{"started_utc", "?"}}, {{"seconds", "10"}}});
  ASSERT_EQ(ledgers.size(), 1U);
  EXPECT_EQ(ledgers[0].session, 1U);
}

TEST(SlotUtilization, AveragesOverEachInterval) {
  const std::vector<PlanResult> rows{plan_of_thread(1, 0, 1, 2), plan_of_thread(1, 0, 3, 0.5)};
  EXPECT_THAT(busy_shares(slot_timelines(rows_of(rows)).at(0), 4, 4),
              testing::ElementsAre(0, 1, 1, 0.5));
}

}  // namespace
}  // namespace wallheat
