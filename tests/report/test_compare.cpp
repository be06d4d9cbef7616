#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "report/compare.hpp"
#include "report/figure.hpp"
#include "report/report_page.hpp"
#include "report/row_table.hpp"
#include "report/summary_page.hpp"
#include "store/field_codec.hpp"
#include "store/result_store.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "support/report_values.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

PlanResult solved_with(const std::string& id, double mean) {
  PlanResult row;
  row.id = id;
  row.status = PlanStatus::converged;
  row.statistics = {mean, 2, 30, 40};
  row.iterations = 100;
  row.rows = 2;
  row.cols = 2;
  row.seconds = 2;
  row.cpu_s = 0.5;
  return row;
}

class TwoFiles : public testing::Test {
 protected:
  struct Content {
    std::vector<PlanResult> rows;
    std::string tolerance = "0.0001";
    bool fields = false;
    std::string solver = "jacobi";
  };
  /// Rows with a field hold it compressed already.
  std::string make(const std::string& name, Content content) {
    Attributes settings{{"solver", content.solver}};
    if (!content.tolerance.empty()) settings["tolerance"] = content.tolerance;
    StorePlan plan{{}, settings, content.fields};
    for (std::uint32_t i = 0; i < content.rows.size(); ++i) {
      content.rows[i].index = i;
      plan.ids.push_back(content.rows[i].id);
    }
    std::erase_if(content.rows,
                  [](const PlanResult& row) { return row.status == PlanStatus::pending; });
    const std::string file = (directory_ / name).string();
    ResultStore store = ResultStore::create(file, plan, {}, false);
    store.store(content.rows);
    store.close({{"seconds", "12"}, {"solved", "4"}});
    return file;
  }
  Comparison compared(Content first, Content second) {
    const std::string a = make("a.h5", std::move(first));
    const std::string b = make("b.h5", std::move(second));
    const ResultReader in_a(a);
    const ResultReader in_b(b);
    return compare({a, {}, &in_a}, {b, {}, &in_b});
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }
  TemporaryDirectory directory_;
};

TEST_F(TwoFiles, differ_by_so_much_in_each_column) {
  PlanResult more = solved_with("b", 14.75);
  more.iterations = 90;
  const Comparison found =
      compared({{solved_with("a", 12), solved_with("b", 14), solved_with("c", no_number)}},
               {{solved_with("a", 11.5), more, solved_with("c", no_number)}});
  EXPECT_EQ(found.compared, 3U);
  EXPECT_EQ(found.identical, 1U) << "NaN equals NaN";
  ASSERT_EQ(found.columns[0].name, "mean_temp");
  EXPECT_EQ(found.columns[0].differing, 2U);
  EXPECT_EQ(found.columns[0].largest, 0.75);
  EXPECT_EQ(found.columns[0].mean, 0.625);
  EXPECT_EQ(found.columns[0].plan, "b");
  EXPECT_EQ(found.columns[1].name, "std_temp");
  EXPECT_EQ(found.columns[1].plan, "");
  EXPECT_THAT(found.columns, Contains(testing::AllOf(Field(&Comparison::Column::name, "iterations"),
                                                     Field(&Comparison::Column::largest, 10))));
  EXPECT_THAT(found.means, ElementsAre(-0.5, 0.75));
  EXPECT_THAT(found.settings, IsEmpty());
  EXPECT_FALSE(found.equal());
  EXPECT_FALSE(found.fields);
}

TEST_F(TwoFiles, name_a_plan_that_is_a_number_in_one_only) {
  const Comparison found = compared({{solved_with("a", 12)}}, {{solved_with("a", no_number)}});
  EXPECT_EQ(found.columns[0].differing, 1U);
  EXPECT_EQ(found.columns[0].plan, "a");
  EXPECT_TRUE(std::isnan(found.columns[0].largest));
  EXPECT_FALSE(found.equal());
}

TEST_F(TwoFiles, differ_in_settings_statuses_plans_and_inputs) {
  PlanResult failed = solved_with("b", no_number);
  failed.status = PlanStatus::failed;
  PlanResult pending;
  pending.id = "x";
  PlanResult other = solved_with("a", 12);
  other.input_hash = 7;
  const Comparison found =
      compared({{solved_with("a", 12), failed, pending, solved_with("only here", 1)}},
               {{other, solved_with("b", 12), pending, solved_with("z", 1)}, "0.001"});
  ASSERT_THAT(found.settings, SizeIs(1));
  EXPECT_EQ(found.settings[0].name, "tolerance");
  EXPECT_EQ(found.settings[0].first, "0.0001");
  EXPECT_EQ(found.settings[0].second, "0.001");
  EXPECT_THAT(found.only_first, ElementsAre("only here"));
  EXPECT_THAT(found.only_second, ElementsAre("z"));
  ASSERT_THAT(found.statuses, SizeIs(1));
  EXPECT_EQ(found.statuses[0].id, "b");
  EXPECT_EQ(found.statuses[0].first, PlanStatus::failed);
  EXPECT_THAT(found.other_inputs, ElementsAre("a"));
  EXPECT_EQ(found.compared, 1U);
  EXPECT_EQ(found.identical, 0U);
}

TEST_F(TwoFiles, differ_in_a_setting_that_one_has_not) {
  const Comparison found = compared({{solved_with("a", 12)}}, {{solved_with("a", 12)}, ""});
  ASSERT_THAT(found.settings, SizeIs(1));
  EXPECT_EQ(found.settings[0].first, "0.0001");
  EXPECT_EQ(found.settings[0].second, "-");
}

TEST_F(TwoFiles, differ_in_the_cells_of_their_fields) {
  const auto with_field = [](const std::string& id, double cell) {
    PlanResult row = solved_with(id, 12);
    Grid<double> field(2, 2, 5.0);
    field(1, 0) = cell;
    put_field(row, field);
    return row;
  };
  const Comparison found = compared({{with_field("a", 10), with_field("b", 10)}, "0.0001", true},
                                    {{with_field("a", 10), with_field("b", 8)}, "0.0001", true});
  ASSERT_TRUE(found.fields);
  EXPECT_EQ(found.compared_fields, 2U);
  EXPECT_EQ(found.fields->differing, 1U);
  EXPECT_EQ(found.fields->largest, 2);
  EXPECT_EQ(found.fields->mean, 0.25) << "over eight cells";
  EXPECT_EQ(found.fields->plan, "b");
  EXPECT_EQ(found.identical, 1U);
}

TEST_F(TwoFiles, are_equal_where_only_times_differ) {
  PlanResult slower = solved_with("a", 12);
  slower.seconds = 9;
  slower.attempts = 2;
  const Comparison found = compared({{solved_with("a", 12)}}, {{slower}});
  EXPECT_TRUE(found.equal());
  EXPECT_THAT(found.histogram().bins, IsEmpty());
}

TEST_F(TwoFiles, of_two_solvers_are_compared_in_what_both_have) {
  Content steady{{solved_with("a", 12)}};
  steady.rows[0].error_bound = 1e-9;
  steady.rows[0].iterations = 8;
  Content jacobi{{solved_with("a", 12)}};
  steady.solver = "steady";
  const Comparison found = compared(jacobi, steady);
  for (const Comparison::Column& column : found.columns) EXPECT_EQ(column.differing, 0U);
  EXPECT_THAT(found.left_out, testing::IsSupersetOf({"iterations", "error_bound"}));
  EXPECT_TRUE(found.equal()) << "in all that can be compared";
  std::filesystem::remove(directory_ / "a.h5");
  std::filesystem::remove(directory_ / "b.h5");
  jacobi.solver = "steady";
  const Comparison alike = compared(jacobi, steady);
  EXPECT_THAT(alike.left_out, IsEmpty());
  EXPECT_FALSE(alike.equal());
}

TEST_F(TwoFiles, tell_how_fast_they_were_solved) {
  const std::string file = make("t.h5", {{solved_with("a", 1), solved_with("b", 2)}});
  const auto time = time_of(file, ResultReader(file));
  ASSERT_TRUE(time);
  EXPECT_EQ(time->seconds_a_plan, 3) << "12 s for the four plans of the session";
  EXPECT_EQ(time->cpu_seconds_a_plan, 0.5);
  EXPECT_FALSE(time->workers) << "the session does not tell";
}

TEST_F(TwoFiles, may_be_the_reference_programs_csv) {
  PlanResult failed = solved_with("f", no_number);
  failed.status = PlanStatus::failed;
  const std::vector<PlanResult> rows{solved_with("a", 12.1), failed, solved_with("b,c", no_number)};
  const std::string file = make("a.h5", {rows});
  std::ostringstream text;
  write_reference_csv(text, rows_of(rows));
  const std::string csv = write("a.csv", text.str());
  EXPECT_TRUE(is_reference_csv(csv));
  EXPECT_FALSE(is_reference_csv(file));
  const ResultReader reader(file);
  const Comparison found = compare({file, {}, &reader}, read_reference_csv(csv));
  EXPECT_TRUE(found.equal()) << "a CSV leaves plans without an answer out";
  EXPECT_EQ(found.identical, 2U);
  EXPECT_THAT(found.columns, SizeIs(4));

  const std::string by_pandas = write(
      "b.csv",
      "building_id,mean_temp,std_temp,pct_above_18,pct_below_15\r\na,12.35,2.0,30.0,40.0\r\n");
  EXPECT_TRUE(is_reference_csv(by_pandas));
  const Comparison other = compare({file, {}, &reader}, read_reference_csv(by_pandas));
  EXPECT_NEAR(other.columns[0].largest, 0.25, 1e-12);
  EXPECT_THAT(other.only_first, ElementsAre("b,c"));
  EXPECT_FALSE(other.equal());
}

TEST_F(TwoFiles, that_are_no_such_csv_are_refused_with_their_line) {
  const std::string head = "building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n";
  const auto refusal = [&](const std::string& lines) {
    return refusal_of<RunError>([&] { (void)read_reference_csv(write("x.csv", head + lines)); });
  };
  EXPECT_THAT(refusal("a, 1, 2, 3, 4\na, 1, 2, 3\n"),
              HasSubstr("x.csv, line 3: there must be an id"));
  EXPECT_THAT(refusal("a, 1, 2, three, 4\n"), HasSubstr("line 2"));
  EXPECT_THAT(refusal("a, 1, 2, 3, 4\n\na, 1, 2, 3, 4\n"),
              HasSubstr("line 4: plan a is there twice"));
  EXPECT_THAT(refusal(""), HasSubstr("holds no plan"));
}

TEST(Differences, are_shown_in_bins_of_their_own_size) {
  Comparison found;
  found.means = {1e-13, 2e-13, 3e-13, -1e-13};
  const Histogram small = found.histogram();
  EXPECT_LE(small.bins.size(), 20U);
  EXPECT_GE(small.bins.size(), 4U);
  EXPECT_THAT(small.outliers, IsEmpty());
  found.means = {0, 0, 0, 0.5, 0, 0};
  EXPECT_THAT(found.histogram().outliers, ElementsAre(3U));
  found.means = {0, std::numeric_limits<double>::denorm_min()};
  EXPECT_THAT(found.histogram().bins, SizeIs(1));
}

TEST(Programs, take_the_hours_of_the_documents) {
  Compared found;
  found.plans = 4571;
  for (const auto& [name, seconds] :
       {std::pair("numpy", 79.0), {"numba", 18.2}, {"cuda", 11.8}, {"cupy", 24.834}})
    found.times.push_back({name, seconds / 10, {}, {}, {}});
  const Report report = report_of(found, 5);
  const auto number = [&](std::size_t row, const char* column) {
    return std::get<double>(cell_of(report, "times", row, column));
  };
  EXPECT_EQ(value_of(report, "base"), Value("numpy"));
  const double speeds[] = {1, 4.34, 6.69, 3.18};
  const double totals[] = {36110.9, 8319.2, 5393.8, 11351.6};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(number(i, "speedup"), speeds[i], 0.005);
    EXPECT_NEAR(number(i, "seconds"), totals[i], 0.05);
  }
  EXPECT_NEAR(number(3, "hours"), 3.15, 0.005);
}

TEST(Programs, are_as_fast_against_the_slowest_or_a_named_one) {
  Compared found;
  found.times = {{"own.h5", 0.1, {}, {}, {}}, {"numpy", 7.9, {}, {}, {}}};
  const auto speedup = [&](std::size_t row) {
    return std::get<double>(cell_of(report_of(found, 5), "times", row, "speedup"));
  };
  EXPECT_EQ(speedup(0), 79);
  found.base = "own.h5";
  EXPECT_EQ(speedup(0), 1);
  EXPECT_NEAR(speedup(1), 1 / 79.0, 1e-12);
}

TEST(Programs, have_a_logarithmic_axis_if_their_times_span_more_than_20) {
  Compared found;
  const auto scale = [&] { return report_of(found, 5).first<Figure>()->y.scale; };
  found.times = {{"own.h5", 0.1, {}, {}, {}}, {"numpy", 1.9, {}, {}, {}}};
  EXPECT_EQ(scale(), Figure::Scale::linear);
  found.times[1].seconds_a_plan = 7.9;
  EXPECT_EQ(scale(), Figure::Scale::powers_of_10);
}

/// b.h5 against a.h5: of three plans one has another mean, and one is in a.h5 only.
Compared two_files() {
  Comparison found;
  found.first = "a.h5";
  found.second = "b.h5";
  found.has_settings = true;
  found.compared = 2;
  found.identical = 1;
  found.only_first = {"x"};
  found.columns = {{"mean_temp", 1, 0.5, 0.25, "2"}, {"std_temp", 0, 0, 0, ""}};
  found.means = {0, 0.5};
  for (const char* id : {"1", "2"}) found.plans.push_back(id);
  return {{found}, {}, {}, 3, ""};
}

TEST(Compared, tells_people_the_columns_that_differ_and_scripts_all) {
  const Report report = report_of(two_files(), 5);
  EXPECT_EQ(rows_of(report, "differing_columns").size(), 1U);
  EXPECT_FALSE(table_of(report, "columns").is_for_people());
  ASSERT_EQ(rows_of(report, "columns").size(), 2U);
  EXPECT_EQ(cell_of(report, "columns", 0, "largest"), Value(0.5));
  EXPECT_FALSE(cell_of(report, "columns", 1, "plan").is_known());
  EXPECT_EQ(cell_of(report, "comparisons", 0, "identical"), Value(1));
  EXPECT_EQ(cell_of(report, "comparisons", 0, "equal"), Value(false));
}

TEST(Compared, says_in_a_sentence_that_all_is_identical) {
  Compared found = two_files();
  Comparison& one = found.comparisons.front();
  one.only_first.clear();
  one.columns.front() = {"mean_temp", 0, 0, 0, ""};
  one.identical = 2;
  one.means = {0, 0};
  const Report report = report_of(found, 5);
  EXPECT_THAT(sentences_of(report),
              Contains("a.h5 and b.h5 are identical to the last bit: 2 plans"));
  EXPECT_THAT(rows_of(report, "differing_columns"), IsEmpty());
  EXPECT_EQ(rows_of(report, "columns").size(), 2U);
}

TEST(Compared, shows_some_plans_that_are_not_in_both_alike_and_has_all_as_data) {
  Compared found = two_files();
  found.comparisons.front().only_first = {"x", "y", "z"};
  found.comparisons.front().statuses = {{"w", PlanStatus::failed, PlanStatus::converged}};
  const Report report = report_of(found, 2);
  const auto apart = [&](std::size_t row, const char* column) {
    return cell_of(report, "plans_apart", row, column);
  };
  ASSERT_EQ(rows_of(report, "plans_apart").size(), 4U);
  EXPECT_EQ(table_of(report, "plans_apart").most_shown, 2U);
  EXPECT_EQ(apart(0, "second"), Value("converged"));
  EXPECT_EQ(apart(0, "what"), Value("failed in a.h5, converged in b.h5"));
  EXPECT_EQ(apart(3, "id"), Value("z"));
  EXPECT_EQ(apart(3, "what"), Value("only in a.h5"));
}

TEST(Compared, puts_the_time_of_all_threads_side_by_side) {
  Compared found;
  found.threads = {{"a.h5", {{"solving", 3}, {"idle", 1}}},
                   {"b.h5", {{"solving", 1}, {"solving on GPUs: kernels", 2}, {"idle", 1}}},
                   {"killed.h5", {}}};
  const Report report = report_of(found, 5);
  const auto time = [&](std::size_t row, const char* column) {
    return cell_of(report, "thread_time", row, column);
  };
  ASSERT_EQ(rows_of(report, "thread_time").size(), 4U);
  EXPECT_EQ(time(0, "share_1"), Value(75.0));
  EXPECT_EQ(time(1, "name"), Value("solving on GPUs: kernels"));
  EXPECT_EQ(time(1, "seconds_1"), Value(0.0));
  EXPECT_EQ(time(1, "seconds_2"), Value(2.0));
  EXPECT_EQ(time(3, "seconds_2"), Value(4.0)) << "of all threads";
  EXPECT_THAT(sentences_of(report), Contains("killed.h5 does not tell where its time went"));
}

TEST(Compared, draws_the_differences_and_the_times) {
  Compared found = two_files();
  found.times = {{"run 50%.h5", 7.9, {}, {}, {}}, {"%d]]>.h5", 1.82, {}, {}, {}}};
  found.comparisons.front().means = {-0.01, 0.02, 0.015};
  const std::string svg = draw(report_of(found, 5), PlotFormat::svg, {});
  for (const char* part : {"b.h5 less a.h5", "seconds a plan", "run 50%.h5", "1.8200"})
    EXPECT_THAT(svg, HasSubstr(part));
  EXPECT_THAT(svg, HasSubstr("%d]]\u200b>.h5")) << "]]> would end the text for a browser";
}

TEST_F(TwoFiles, make_a_page_whatever_their_times_are) {
  Content content{{solved_with("a", 15), solved_with("b", 16), solved_with("c", 16)}};
  for (PlanResult& row : content.rows) row.predicted_s = 0.5;
  content.rows[1].seconds = std::numeric_limits<double>::infinity();
  content.rows[2].predicted_s = std::numeric_limits<float>::infinity();
  const std::string file = make("r.h5", content);
  const ResultReader reader(file);
  const Rows rows = rows_of(reader);
  std::ostringstream page;
  write_page(page_of(Report{"r.h5"}, {file, reader, rows, {}}), page);
  EXPECT_THAT(page.str(), HasSubstr("1 plans were predicted"));
}

}  // namespace
}  // namespace wallheat
