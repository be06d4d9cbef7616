#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <tuple>

#include "io/files.hpp"
#include "report/compare.hpp"
#include "report/result_csv.hpp"
#include "report/row_table.hpp"
#include "report/scaling.hpp"
#include "store/field_codec.hpp"
#include "store/result_store.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/report_values.hpp"
#include "support/results.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

// Comparisons of result files, programs and worker counts: the commands `compare` and `scaling`.

namespace wallheat {
namespace {

constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

PlanResult solved_with(const std::string& id, double mean, double cell = 5) {
  PlanResult row;
  row.id = id;
  row.status = PlanStatus::converged;
  row.statistics = {mean, 2, 30, 40};
  row.iterations = 100;
  row.rows = row.cols = 2;
  row.seconds = 2;
  row.cpu_s = 0.5;
  Grid<double> field(2, 2, 5.0);
  field(1, 0) = cell;
  attach_field(row, field);
  return row;
}

class CompareFilesTest : public testing::Test {
 protected:
  using Rows = std::vector<PlanResult>;
  std::string make(const std::string& name, Rows rows, const Attributes& settings = jacobi_) {
    ResultFileSpec plan{{}, settings, true};
    for (PlanResult& row : rows) {
      row.index = static_cast<std::uint32_t>(plan.ids.size());
      plan.ids.push_back(row.id);
    }
    std::erase_if(rows, [](const PlanResult& row) { return row.status == PlanStatus::pending; });
    const std::string file = (directory_ / name).string();
    ResultStore store({file, OpenMode::overwrite}, plan, {});
    store.store(rows);
    store.close({{"seconds", "12"}, {"solved", "4"}});
    return file;
  }
  Comparison compared(const Rows& first, const Rows& second,
                      const Attributes& of_second = jacobi_) {
    const ResultReader a(make("a.h5", first));
    const ResultReader b(make("b.h5", second, of_second));
    return compare({"a.h5", {}, &a}, {"b.h5", {}, &b});
  }
  static inline const Attributes jacobi_{
      {"solver", "jacobi"}, {"tolerance", "0.0001"}, {"above", "18.0"}, {"below", "15.0"}};
  static inline const Attributes command_{
      {"solver", "command"}, {"above", "18.0"}, {"below", "15.0"}};
  TemporaryDirectory directory_;
};

TEST_F(CompareFilesTest, ReportsEveryKindOfDifference) {
  PlanResult sooner = solved_with("b", 14.75, 8);
  sooner.iterations = 90;
  PlanResult failed = solved_with("e", quiet_nan);
  failed.status = PlanStatus::failed;
  PlanResult other_input = solved_with("f", 9);
  other_input.input_hash = 7;
  PlanResult pending;
  pending.id = "x";
  const Comparison found = compared(
      {solved_with("a", 12), solved_with("b", 14, 10), solved_with("c", quiet_nan),
       solved_with("d", 13), failed, solved_with("f", 9), pending, solved_with("only here", 1)},
      {solved_with("a", 11.5), sooner, solved_with("c", quiet_nan), solved_with("d", quiet_nan),
       solved_with("e", 12), other_input, pending, solved_with("z", 1)},
      {{"solver", "jacobi"}, {"above", "18.0"}, {"below", "15.0"}});
  EXPECT_FALSE(found.equal());
  EXPECT_EQ(found.compared, 5U);
  EXPECT_EQ(found.identical, 1U) << "NaN equals NaN";
  EXPECT_THAT(found.means, ElementsAre(-0.5, 0.75, 0));
  const Report report = make_report({{found}, {}, {}, 3, ""}, 2);
  std::map<std::string, Table::Row> columns;
  for (const Table::Row& row : rows_of(report, "columns")) columns[value_text(row.at(1))] = row;
  for (const auto& [column, plans, largest, mean, plan] :
       {std::tuple("mean_temp", 3, Value(0.75), Value(1.25 / 3), Value("b")),
        {"std_temp", 0, 0.0, 0.0, Value()},
        {"iterations", 1, 10.0, 2.0, "b"},
        {"field", 1, 2.0, 0.1, "b"}})
    EXPECT_THAT(columns[column],
                ElementsAre(Value("b.h5"), Value(column), Value(plans), largest, mean, plan));
  ASSERT_THAT(rows_of(report, "settings"), SizeIs(1));
  EXPECT_THAT(rows_of(report, "settings")[0],
              ElementsAre(Value("b.h5"), Value("tolerance"), Value("0.0001"), Value("-")));
  EXPECT_EQ(table_of(report, "plans_apart").max_text_rows, 2U);
  for (const auto& [row, id, kind, facts] :
       {std::tuple(0, "e", "status", Facts{"failed", "a.h5", "converged", "b.h5"}),
        {1, "f", "floor plan", {"floor plan"}},
        {2, "only here", "only first", {"a.h5"}},
        {3, "z", "only second", {"b.h5"}}}) {
    EXPECT_EQ(cell_of(report, "plans_apart", row, "id"), Value(id));
    EXPECT_EQ(cell_of(report, "plans_apart", row, "kind"), Value(kind));
    EXPECT_THAT(value_text(cell_of(report, "plans_apart", row, "what")), Mentions(facts));
  }
  const Comparison alike = compared({solved_with("a", 12)}, {solved_with("a", 12)});
  EXPECT_TRUE(alike.equal());
  EXPECT_FALSE(table_of(make_report({{alike}, {}, {}, 3, ""}, 5), "columns").is_in_text())
      << "nothing differs";
}

TEST_F(CompareFilesTest, IsNotEqualWithoutCommonResult) {
  PlanResult failed = solved_with("a", quiet_nan);
  failed.status = PlanStatus::failed;
  PlanResult pending;
  pending.id = "a";
  EXPECT_FALSE(compared({failed}, {failed}).equal());
  EXPECT_FALSE(compared({pending}, {pending}).equal());
  PlanResult empty = solved_with("a", quiet_nan);
  empty.status = PlanStatus::empty;
  EXPECT_TRUE(compared({empty}, {empty}).equal()) << "both have solved the plan";
}

TEST_F(CompareFilesTest, ComparesCommonColumnsOfTwoSolvers) {
  PlanResult steady = solved_with("a", 12);
  steady.error_bound = 1e-9;
  steady.iterations = 8;
  steady.seconds = 9;  // times may differ
  const Comparison found = compared({solved_with("a", 12)}, {steady},
                                    {{"solver", "steady"}, {"above", "18.0"}, {"below", "15.0"}});
  EXPECT_THAT(found.skipped_columns, testing::IsSupersetOf({"iterations", "error_bound"}));
  EXPECT_TRUE(found.equal()) << "in all that can be compared";
  PlanResult of_program = solved_with("a", 12);
  of_program.last_delta = 1e-5;
  const Comparison with_program = compared({solved_with("a", 12)}, {of_program}, command_);
  EXPECT_THAT(with_program.skipped_columns, Contains("last_delta"));
  EXPECT_THAT(with_program.skipped_columns, Not(Contains("iterations")));
  EXPECT_TRUE(with_program.equal());
  PlanResult unreported = of_program;
  unreported.status = PlanStatus::convergence_unknown;
  unreported.solver = "command 0123";
  unreported.iterations = 0;
  const Comparison with_unknown = compared({solved_with("a", 12)}, {unreported}, command_);
  EXPECT_TRUE(with_unknown.equal()) << "unknown iterations and convergence contradict nothing";
  PlanResult failed = unreported;
  failed.status = PlanStatus::failed;
  EXPECT_EQ(compared({unreported}, {failed}, command_).count(Comparison::Kind::status), 1U);
  const Comparison of_one = compared({solved_with("a", 12)}, {steady});
  EXPECT_THAT(of_one.skipped_columns, IsEmpty());
  EXPECT_FALSE(of_one.equal());
}

TEST_F(CompareFilesTest, ReportsSecondsPerPlan) {
  const std::string file = make("t.h5", {solved_with("a", 1), solved_with("b", 2)});
  const auto time = time_of(file, ResultReader(file));
  ASSERT_TRUE(time);
  EXPECT_EQ(time->seconds_per_plan, 3) << "12 s for the four plans of the session";
  EXPECT_EQ(time->cpu_seconds_per_plan, 0.5);
}

TEST_F(CompareFilesTest, AcceptsCsvOfReferenceProgram) {
  PlanResult failed = solved_with("f", quiet_nan);
  failed.status = PlanStatus::failed;
  const std::vector<PlanResult> rows{solved_with("a", 12.1), failed, solved_with("b,c", quiet_nan)};
  const std::string file = make("a.h5", rows);
  EXPECT_FALSE(is_reference_csv(file));
  const ResultReader reader(file);
  const std::string csv = directory_ / "a.csv";
  std::ofstream own(csv);
  write_reference_csv(own, rows_of(rows), Thresholds());
  own.close();
  EXPECT_TRUE(is_reference_csv(csv));
  const Comparison found = compare({file, {}, &reader}, read_reference_csv(csv));
  EXPECT_TRUE(found.equal()) << "a CSV does not list plans without a result";
  EXPECT_EQ(found.identical, 2U);
  EXPECT_THAT(found.columns, SizeIs(4));

  std::ofstream(csv) << "building_id,mean_temp,std_temp,pct_above_18,pct_below_15\r\n"
                        "a,12.35,2.0,30.0,40.0\r\n";  // by pandas
  EXPECT_TRUE(is_reference_csv(csv));
  const Comparison other = compare({file, {}, &reader}, read_reference_csv(csv));
  EXPECT_NEAR(other.columns[0].largest, 0.25, 1e-12);
  ASSERT_THAT(other.mismatches, SizeIs(1));
  EXPECT_EQ(other.mismatches[0].id, "b,c");
  EXPECT_FALSE(other.equal());
  std::ofstream(csv) << "id,mean_temp\nvilla,12.35\n";
  EXPECT_THAT(error_message_of<RunError>([&] { (void)read_reference_csv(csv); }),
              Mentions({"a.csv", "villa", "std_temp"}));
}

TEST_F(CompareFilesTest, ReadsThresholdsFromCsvHeader) {
  const Rows rows{solved_with("a", 12.1)};
  Attributes settings = jacobi_;
  settings["above"] = "20.5";
  settings["below"] = "-3.0";
  const ResultReader reader(make("other.h5", rows, settings));
  const std::string csv = directory_ / "other.csv";
  std::ofstream stream(csv);
  write_reference_csv(stream, rows_of(rows), {20.5, -3});
  stream.close();
  const std::string text = read_text_file(csv);
  EXPECT_THAT(text, StartsWith("building_id, mean_temp, std_temp, pct_above_20.5, pct_below_-3\n"));
  EXPECT_THAT(text, StartsWith(std::string(reference_csv_magic)));
  EXPECT_TRUE(is_reference_csv(csv));
  EXPECT_EQ(read_reference_csv(csv).thresholds(), (Thresholds{20.5, -3}));
  EXPECT_TRUE(compare({"other.h5", {}, &reader}, read_reference_csv(csv)).equal());
  for (const char* header : {"building_id, mean_temp, std_temp, pct_above_warm, pct_below_15",
                             "building_id, mean_temp, std_temp, pct_above_inf, pct_below_15",
                             "building_id, mean_temp, std_temp, pct_above_lower, pct_below_lower",
                             "building_id, mean_temp, std_temp, pct_below_15, pct_above_18",
                             "building_id, mean_temp, std_temp, pct_above, pct_below",
                             "building_id, mean_temp, std_temp, pct_above_18"}) {
    std::ofstream(csv) << header << '\n';
    EXPECT_FALSE(is_reference_csv(csv)) << header;
  }
}

TEST_F(CompareFilesTest, RejectsDifferentThresholds) {
  const Rows rows{solved_with("a", 12.1)};
  Attributes warmer = jacobi_;
  warmer["above"] = "20.5";
  const std::string csv = directory_ / "reference.csv";
  std::ofstream(csv) << "building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n"
                        "a, 12.1, 2.0, 30.0, 40.0\n";
  EXPECT_THAT(error_message_of<RunError>([&] { (void)compared(rows, rows, warmer); }),
              Mentions({"a.h5", "b.h5", "18", "20.5", "15", "--above 18 --below 15"}));
  const ResultReader reader(make("b.h5", rows, warmer));
  EXPECT_THAT(error_message_of<RunError>([&] {
                (void)compare(read_reference_csv(csv), {"b.h5", {}, &reader});
              }),
              Mentions({"reference.csv", "b.h5", "18", "20.5", "--above 18 --below 15"}));
}

TEST(CompareProgramTimes, MatchesPublishedHours) {
  CompareResults found;
  found.plans = 4571;
  for (const auto& [name, seconds] :
       {std::pair("numba", 18.2), {"numpy", 79.0}, {"cuda", 11.8}, {"cupy", 24.834}})
    found.times.push_back({name, seconds / 10});
  const Report report = make_report(found, 5);
  const auto number = [](const Report& of, std::size_t row, const char* column) {
    return std::get<double>(cell_of(of, "times", row, column));
  };
  EXPECT_EQ(value_of(report, "base"), Value("numpy")) << "the slowest";
  const double speeds[] = {4.34, 1, 6.69, 3.18};
  const double totals[] = {8319.2, 36110.9, 5393.8, 11351.6};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(number(report, i, "speedup"), speeds[i], 0.005);
    EXPECT_NEAR(number(report, i, "seconds"), totals[i], 0.05);
  }
  EXPECT_NEAR(number(report, 3, "hours"), 3.15, 0.005);
  EXPECT_EQ(report.first<Figure>()->y.scale, Figure::Scale::linear);
  found.base = "cuda";
  found.times[2].seconds_per_plan = 0.1;
  const Report against_cuda = make_report(found, 5);
  EXPECT_NEAR(number(against_cuda, 1, "speedup"), 0.1 / 7.9, 1e-12);
  EXPECT_EQ(against_cuda.first<Figure>()->y.scale, Figure::Scale::powers_of_10);
}

TEST(CompareResults, TabulatesThreadTimesOfEachFile) {
  CompareResults found;
  found.threads = {{"a.h5", {{"solving", 3}, {"on GPUs", 0}, {"reading", 0}, {"waiting", 1}}},
                   {"b.h5", {{"solving", 1}, {"on GPUs", 2}, {"reading", 0}, {"waiting", 1}}},
                   {"killed.h5", {}}};
  for (const auto& [file, seconds] : found.threads) found.times.push_back({file, 1});
  const Report report = make_report(found, 5);
  ASSERT_EQ(rows_of(report, "thread_time").size(), 4U);
  EXPECT_EQ(cell_of(report, "thread_time", 0, "share_1"), Value(75.0));
  EXPECT_EQ(cell_of(report, "thread_time", 1, "name"), Value("on GPUs"));
  EXPECT_EQ(cell_of(report, "thread_time", 1, "seconds_2"), Value(2.0));
  EXPECT_EQ(cell_of(report, "thread_time", 3, "seconds_2"), Value(4.0));
  EXPECT_THAT(messages_of(report),
              ElementsAre(Mentions({"wall time", "start", "end", "not measured"}),
                          Mentions({"killed.h5", "time breakdown"})));
}

auto HasName(const auto& name) { return Field(&Figure::Series::name, name); }

/// Published wall times of runs on 1 to 8 GPUs.
const std::vector<ScalingPoint> of_gpus{{1, 212}, {2, 140}, {3, 110}, {4, 105}, {8, 145}};

TEST(Amdahl, MatchesPublishedSpeedups) {
  for (const auto& [speedup, share, limit] :
       {std::tuple(3.7, 0.778, 4.51), {6.0, 0.889, 9.0}, {1 / (0.21 + 0.79 / 16), 0.79, 4.76}}) {
    const Report of_16 = make_report({scaling_of("", {{1, speedup}, {16, 1}}, speedup)}, "");
    EXPECT_NEAR(std::get<double>(value_of(of_16, "parallel_share")), share, 0.0005);
    EXPECT_NEAR(std::get<double>(value_of(of_16, "largest_speedup")), limit, 0.005);
  }
  const Report report = make_report({scaling_of("", of_gpus, 212)}, "");
  const double speedups[] = {1, 1.51, 1.93, 2.02, 1.46};
  const double efficiencies[] = {100, 75.7, 64.2, 50.5, 18.3};
  ASSERT_THAT(rows_of(report, "points"), SizeIs(5));
  for (std::size_t row = 0; row < 5; ++row) {
    const auto number = [&](const char* column) {
      return std::get<double>(cell_of(report, "points", row, column));
    };
    EXPECT_NEAR(number("speedup"), speedups[row], 0.005);
    EXPECT_NEAR(number("efficiency_pct"), efficiencies[row], 0.05);
  }
}

TEST(Amdahl, FitsParallelShareToAllPoints) {
  std::vector<ScalingPoint> points;
  for (const std::size_t workers : {1U, 2U, 3U, 8U, 64U})
    points.push_back({workers, 100 * (0.1 + 0.9 / static_cast<double>(workers))});
  EXPECT_NEAR(scaling_of("", points, 100).parallel_share, 0.9, 1e-12);
  // Least squares of 1 - 1 / S = F (1 - 1 / p) for two points.
  EXPECT_NEAR(scaling_of("", {{2, 60}, {4, 50}}, 100).parallel_share,
              (0.4 * 0.5 + 0.5 * 0.75) / (0.25 + 0.5625), 1e-12);
  EXPECT_TRUE(std::isnan(scaling_of("", {{1, 5}}, 5).parallel_share));
}

TEST(Amdahl, KeepsShareWithinOneForAnySpeedup) {
  for (const std::vector<ScalingPoint>& points :
       {std::vector<ScalingPoint>{{1, 100}, {2, 30}, {64, 2}},
        {{1, 100}, {2, 49}, {4, 24}, {8, 12}},
        {{1, 100}, {2, 120}, {4, 90}}}) {
    const Report report = make_report({scaling_of("", points, 100)}, "");
    std::vector<double> shares{std::get<double>(value_of(report, "parallel_share"))};
    for (std::size_t row = 1; row < points.size(); ++row)
      shares.push_back(std::get<double>(cell_of(report, "points", row, "parallel_share")));
    EXPECT_THAT(shares, Each(AllOf(testing::Ge(0), testing::Le(1))));
    for (const Figure::Series& series : report.first<Figure>()->series)
      EXPECT_THAT(series.y, Each(testing::Gt(0))) << series.name << ": no pole";
  }
  const Report superlinear =
      make_report({scaling_of("", {{1, 100}, {2, 30}, {3, 100 / 3.0}}, 100)}, "");
  EXPECT_THAT(messages_of(superlinear), Contains(Mentions({"2 slots", "3.33", "ideal"})));
  EXPECT_THAT(messages_of(superlinear), Not(Contains(Mentions({"3 slots", "ideal"}))));
}

TEST(Scaling, NamesRunsOnSharedCores) {
  std::vector<ScalingPoint> points{{1, 100, 8}, {2, 50, 8}, {4, 40, 8}};
  EXPECT_THAT(messages_of(make_report({scaling_of("", points, 100)}, "")),
              Not(Contains(Mentions("shared cores"))));
  points[1].cores_were_shared = points[2].cores_were_shared = true;
  const Report report = make_report({scaling_of("", points, 100)}, "");
  EXPECT_THAT(messages_of(report), Contains(Mentions({"shared cores", "2, 4"})));
  EXPECT_EQ(cell_of(report, "points", 0, "cores_were_shared"), Value(false));
  EXPECT_EQ(cell_of(report, "points", 1, "cores_were_shared"), Value(true));
  EXPECT_THAT(messages_of(report_of_plan_counts(points)), Contains(Mentions("shared cores")));
}

TEST(Scaling, UsesFastestOfRepeatedRuns) {
  const std::vector<ScalingPoint> points{{2, 7}, {1, 12}, {2, 5}, {1, 13}, {2, 8}};
  EXPECT_EQ(one_worker_seconds(points), 12);
  EXPECT_EQ(one_worker_seconds({{2, 7}}), std::nullopt);
  const auto json = json_of(make_report({scaling_of("", points, 12)}, "somewhere"));
  EXPECT_EQ(json["source"], "somewhere");
  ASSERT_EQ(json["points"].size(), 2U);
  EXPECT_EQ(json["points"][1]["workers"], 2);
  EXPECT_EQ(json["points"][1]["speedup"], 2.4);
  EXPECT_TRUE(json["largest_speedup"].is_null()) << "no limit for superlinear speed-ups";
}

TEST(Scaling, LimitsReplayByLongestPlan) {
  const Scaling scaling =
      scaling_of("dynamic", {{1, 100}, {2, 50}, {64, 4}, {128, 4}}, 100, {{4, 25}});
  EXPECT_TRUE(std::isnan(scaling.parallel_share)) << "Amdahl's law has no longest plan";
  EXPECT_THAT(messages_of(make_report({scaling}, "")),
              ElementsAre(Mentions({"dynamic", "25.00", "4.0000 s", "25 slots"})));
  const Report report = make_report({scaling}, "");
  EXPECT_EQ(cell_of(report, "limits", 0, "schedule"), Value("dynamic"));
  EXPECT_EQ(cell_of(report, "limits", 0, "largest_speedup"), Value(25.0));
  EXPECT_EQ(cell_of(report, "limits", 0, "sufficient_workers"), Value(25));
  EXPECT_THAT(report.first<Figure>()->series,
              ElementsAre(HasName(Mentions("dynamic")), HasName(Mentions("25.00")),
                          HasName(Mentions("ideal"))));
}

TEST(Scaling, ReportsSlowdownForMoreWorkers) {
  const Scaling scaling = scaling_of("", of_gpus, 212);
  EXPECT_THAT(messages_of(make_report({scaling}, "")),
              ElementsAre(Mentions({"8", "4", "145.00", "105.00"})));
  EXPECT_EQ(scaling.parallel_share,
            scaling_of("", {{1, 212}, {2, 140}, {3, 110}, {4, 105}}, 212).parallel_share);
  EXPECT_THAT(messages_of(make_report({scaling_of("", {{1, 100}, {2, 50}, {4, 51}}, 100)}, "")),
              IsEmpty())
      << "noise";
  const std::string share = fmt::format("{:.3f}", scaling.parallel_share);
  EXPECT_NEAR(scaling.parallel_share, 0.65, 0.05);
  EXPECT_THAT(make_report({scaling}, "").first<Figure>()->series,
              ElementsAre(HasName(Mentions("measured")), HasName(Mentions({"Amdahl", share})),
                          HasName(Mentions("ideal"))));
}

TEST(Scaling, ReportsSecondsPerPlanOverPlanCounts) {
  const auto json = json_of(report_of_plan_counts({{4, 5, 10, 1, 0}, {4, 16, 64, 1, 0}}));
  EXPECT_EQ(json["workers"], 4);
  EXPECT_EQ(json["points"][0]["seconds_per_plan"], 0.5);
  EXPECT_EQ(json["points"][1]["plans_per_s"], 4);
}

Attributes end_of_session(int workers, const std::string& seconds) {
  return {{"plans_at_once", std::to_string(workers)}, {"seconds", seconds}};
}

/// Returns the scaling point of a file to which each session added one of two plans.
ScalingPoint run_with(const std::vector<Attributes>& ends) {
  const TemporaryDirectory directory;
  const std::string file = (directory / "r.h5").string();
  const TestPlan plan = make_plan(2);
  for (std::size_t session = 0; session < ends.size(); ++session) {
    ResultStore store({file, session == 0 ? OpenMode::create : OpenMode::resume}, plan, {});
    store.store(make_results(plan, session, session + 1));
    store.close(ends[session]);
  }
  return finished_run(file, ResultReader(file));
}

TEST(FinishedRun, AddsUpTimesOfAllSessions) {
  const ScalingPoint point = run_with({end_of_session(16, "2.5"), end_of_session(16, "4")});
  EXPECT_EQ(point.workers, 16U);
  EXPECT_EQ(point.seconds, 6.5);
  EXPECT_EQ(point.plans, 2U);
}

TEST(FinishedRun, ReportsWhetherCoresWereShared) {
  const TemporaryDirectory directory;
  for (const bool is_shared : {true, false}) {
    const std::string file = (directory / (is_shared ? "shared.h5" : "alone.h5")).string();
    ResultStore store({file, OpenMode::create}, make_plan(1), {});
    std::vector<PlanResult> rows = make_results(make_plan(1), 0, 1);
    rows[0].device = "cpu avx2";
    rows[0].seconds = 10;
    rows[0].cpu_s = is_shared ? 5 : 9.5;
    store.store(rows);
    store.close(end_of_session(1, "10"));
    EXPECT_EQ(finished_run(file, ResultReader(file)).cores_were_shared, is_shared);
  }
}

TEST(FinishedRun, RejectsRunWithoutMeaningfulTime) {
  const Attributes of_killed;
  for (const auto& [ends, facts] :
       {std::pair(std::vector{end_of_session(2, "3")}, Facts{"r.h5", "1 of 2", "--resume"}),
        {{end_of_session(2, "3"), end_of_session(4, "3")}, {"r.h5", "2", "4", "slots"}},
        {{of_killed, end_of_session(4, "3")}, {"r.h5", "killed"}}})
    EXPECT_THAT(error_message_of<RunError>([&, &ends = ends] { (void)run_with(ends); }),
                Mentions(facts));
}

}  // namespace
}  // namespace wallheat
