#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "report/answer_csv.hpp"
#include "report/compare.hpp"
#include "report/row_table.hpp"
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

/// By name.
Comparison::Column column_of(const Comparison& found, const std::string& name) {
  for (const Comparison::Column& column : found.columns)
    if (column.name == name) return column;
  return {"no " + name};
}

TEST_F(TwoFiles, differ_by_so_much_in_each_column) {
  PlanResult more = solved_with("b", 14.75);
  more.iterations = 90;
  const Comparison found = compared(
      {{solved_with("a", 12), solved_with("b", 14), solved_with("c", no_number),
        solved_with("d", 13)}},
      {{solved_with("a", 11.5), more, solved_with("c", no_number), solved_with("d", no_number)}});
  EXPECT_EQ(found.compared, 4U);
  EXPECT_EQ(found.identical, 1U) << "NaN equals NaN";
  const Comparison::Column mean = column_of(found, "mean_temp");
  EXPECT_EQ(mean.differing, 3U);
  EXPECT_EQ(mean.largest, 0.75);
  EXPECT_EQ(mean.sum, 1.25);
  EXPECT_EQ(mean.numbers, 2U);
  EXPECT_EQ(mean.plan, "b");
  EXPECT_EQ(column_of(found, "std_temp").plan, "");
  EXPECT_EQ(column_of(found, "iterations").largest, 10);
  EXPECT_THAT(found.means, ElementsAre(-0.5, 0.75));
  EXPECT_THAT(found.settings, IsEmpty());
  EXPECT_FALSE(found.equal());
  EXPECT_EQ(column_of(found, "field").name, "no field");
}

TEST_F(TwoFiles, differ_in_settings_statuses_plans_and_inputs) {
  using enum Comparison::Kind;
  PlanResult failed = solved_with("b", no_number);
  failed.status = PlanStatus::failed;
  PlanResult pending;
  pending.id = "x";
  PlanResult other = solved_with("a", 12);
  other.input_hash = 7;
  const Comparison found =
      compared({{solved_with("a", 12), failed, pending, solved_with("only here", 1)}},
               {{other, solved_with("b", 12), pending, solved_with("z", 1)}, ""});
  ASSERT_THAT(found.settings, SizeIs(1));
  EXPECT_EQ(found.settings[0].name, "tolerance");
  EXPECT_EQ(found.settings[0].first, "0.0001");
  EXPECT_EQ(found.settings[0].second, "-") << "which the second has not";
  std::vector<std::pair<Comparison::Kind, std::string>> apart;
  for (const Comparison::Apart& plan : found.apart) apart.emplace_back(plan.kind, plan.id);
  EXPECT_THAT(apart, ElementsAre(std::pair(status, "b"), std::pair(floor_plan, "a"),
                                 std::pair(only_first, "only here"), std::pair(only_second, "z")));
  EXPECT_EQ(found.compared, 1U);
  EXPECT_EQ(found.identical, 0U);

  Comparison named = found;
  named.first = "a.h5";
  named.second = "b.h5";
  const Report report = report_of({{named}, {}, {}, 3, ""}, 2);
  EXPECT_EQ(table_of(report, "plans_apart").most_shown, 2U);
  for (const auto& [row, key, value] : {std::tuple(0, "second", Value("converged")),
                                        {0, "what", Value("failed in a.h5, converged in b.h5")},
                                        {1, "kind", Value("floor plan")},
                                        {2, "what", Value("only in a.h5")}})
    EXPECT_EQ(cell_of(report, "plans_apart", row, key), value) << row << key;
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
  const Comparison::Column field = column_of(found, "field");
  EXPECT_EQ(found.compared_fields, 2U);
  EXPECT_EQ(field.differing, 1U);
  EXPECT_EQ(field.largest, 2);
  EXPECT_EQ(field.numbers, 8U) << "cells";
  EXPECT_EQ(field.plan, "b");
  EXPECT_EQ(found.identical, 1U);
}

TEST_F(TwoFiles, of_two_solvers_are_compared_in_what_both_have) {
  Content steady{{solved_with("a", 12)}};
  steady.rows[0].error_bound = 1e-9;
  steady.rows[0].iterations = 8;
  steady.rows[0].seconds = 9;  // times may differ
  Content jacobi{{solved_with("a", 12)}};
  steady.solver = "steady";
  const Comparison found = compared(jacobi, steady);
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
  EXPECT_THAT(text.str(), Not(HasSubstr("\nf,"))) << "which has no answer";
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
  ASSERT_THAT(other.apart, SizeIs(1));
  EXPECT_EQ(other.apart[0].id, "b,c");
  EXPECT_FALSE(other.equal());
  const std::string some = write("some.csv", "id,mean_temp\na,12.35\n");
  EXPECT_THAT(refusal_of<RunError>([&] { (void)read_reference_csv(some); }),
              HasSubstr("some.csv: plan a has no std_temp"));
}

TEST(Programs, take_the_hours_of_the_documents) {
  Compared found;
  found.plans = 4571;
  for (const auto& [name, seconds] :
       {std::pair("numpy", 79.0), {"numba", 18.2}, {"cuda", 11.8}, {"cupy", 24.834}})
    found.times.push_back({name, seconds / 10});
  const Report report = report_of(found, 5);
  const auto number = [](const Report& of, std::size_t row, const char* column) {
    return std::get<double>(cell_of(of, "times", row, column));
  };
  EXPECT_EQ(value_of(report, "base"), Value("numpy")) << "the slowest";
  const double speeds[] = {1, 4.34, 6.69, 3.18};
  const double totals[] = {36110.9, 8319.2, 5393.8, 11351.6};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(number(report, i, "speedup"), speeds[i], 0.005);
    EXPECT_NEAR(number(report, i, "seconds"), totals[i], 0.05);
  }
  EXPECT_NEAR(number(report, 3, "hours"), 3.15, 0.005);
  EXPECT_EQ(report.first<Figure>()->y.scale, Figure::Scale::linear);
  found.base = "cuda";
  found.times[2].seconds_a_plan = 0.1;
  const Report against_cuda = report_of(found, 5);
  EXPECT_NEAR(number(against_cuda, 0, "speedup"), 0.1 / 7.9, 1e-12);
  EXPECT_EQ(against_cuda.first<Figure>()->y.scale, Figure::Scale::powers_of_10);
}

TEST(Compared, tells_what_differs_in_each_column) {
  Comparison found;
  found.compared = 2;
  found.columns = {{"mean_temp", 1, 0.5, 0.5, 2, "2"}, {"std_temp", 0, 0, 0, 2}};
  const auto report = [&] { return report_of({{found}, {}, {}, 3, ""}, 5); };
  EXPECT_EQ(cell_of(report(), "columns", 0, "mean"), Value(0.25));
  EXPECT_FALSE(cell_of(report(), "columns", 1, "plan").is_known());
  EXPECT_TRUE(table_of(report(), "columns").is_for_people());
  found.columns[0].differing = 0;
  EXPECT_FALSE(table_of(report(), "columns").is_for_people()) << "nothing differs";
}

TEST(Compared, puts_the_time_of_all_threads_side_by_side) {
  Compared found;
  LedgerSeconds a{};
  LedgerSeconds b{};
  a.front() = 3;
  a.back() = b.front() = b.back() = 1;
  b.at(3) = 2;
  found.threads = {{"a.h5", a}, {"b.h5", b}, {"killed.h5", {}}};
  const Report report = report_of(found, 5);
  ASSERT_EQ(rows_of(report, "thread_time").size(), 4U);
  for (const auto& [row, key, value] : {std::tuple(0, "share_1", Value(75.0)),
                                        {1, "name", Value("solving on GPUs: kernels")},
                                        {1, "seconds_1", Value(0.0)},
                                        {1, "seconds_2", Value(2.0)},
                                        {3, "seconds_2", Value(4.0)}})
    EXPECT_EQ(cell_of(report, "thread_time", row, key), value) << row << key;
  EXPECT_THAT(sentences_of(report), Contains("killed.h5 does not tell where its time went"));
}

}  // namespace
}  // namespace wallheat
