#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <tuple>

#include "core/cell_statistics.hpp"
#include "core/generator.hpp"
#include "report/result_csv.hpp"
#include "solve/single_precision.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/report_values.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

using testing::AllOf;

/// A program that solves the same exercise: returns the statistics that it prints for a plan.
using Program = std::function<Statistics(const FloorPlan&)>;

FloorPlan after(FloorPlan plan, std::int64_t sweeps) {
  plan.domain = make_jacobi_solver(Isa::baseline)
                    ->solve(plan, {.tolerance = 0, .max_iterations = sweeps}, {})
                    ->field;
  return plan;
}
std::int64_t stop_of(const FloorPlan& plan) {
  return make_jacobi_solver(Isa::baseline)->solve(plan, {}, {})->iterations;
}
Statistics of_iterate(const FloorPlan& plan, std::int64_t sweeps) {
  return statistics(after(plan, sweeps).domain, plan.interior);
}
Statistics reference(const FloorPlan& plan) { return of_iterate(plan, stop_of(plan)); }
Statistics every_hundredth(const FloorPlan& plan) {
  return of_iterate(plan, (stop_of(plan) + 99) / 100 * 100);
}

class IterateMatchingTest : public testing::Test {
 protected:
  IterateMatchingTest() {
    plans_ = {{"1", room(90, 120)},
              {"2", generate_floor_plan(3, 0, 40)},
              {"3", generate_floor_plan(3, 1, 40)},
              {"4", generate_floor_plan(3, 2, 40)}};
    std::ofstream list(directory_ / "building_ids.txt");
    for (const auto& [id, plan] : plans_) {
      save_floor_plan(directory_.path(), id, plan);
      list << id << '\n';
    }
  }
  Report report_on(const std::string& csv) {
    std::ofstream(file_) << csv;
    const SharedPlanSource source = directory_source(directory_.path());
    ResultCsv results = read_result_csv({file_.string()});
    remove_unavailable_plans(results, *source);
    return identify_iterates(results, *source);
  }
  /// Returns the CSV that a program prints with this number of significant digits.
  std::string printed(const Program& program, int digits) {
    std::string csv = "building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n";
    for (const auto& [id, plan] : plans_) {
      const Statistics s = program(plan);
      csv += fmt::format("{}, {:.{}g}, {:.{}g}, {:.{}g}, {:.{}g}\n", id, s.mean_temp, digits,
                         s.std_temp, digits, s.pct_above, digits, s.pct_below, digits);
    }
    return csv;
  }
  /// Returns the message about the iterates that the program prints.
  std::string verdict(const std::string& csv) { return messages_of(report_on(csv)).front(); }

  TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_ / "mine.csv";
  std::vector<NamedPlan> plans_;
};

TEST_F(IterateMatchingTest, IdentifiesUsualPrograms) {
  const Program single = [](const FloorPlan& plan) {
    SinglePrecisionJacobi program(plan);
    while (program.sweep() >= 1e-4F) continue;
    return single_precision_statistics(program.values());
  };
  const Program all_cells = [](const FloorPlan& plan) {
    return statistics(after(plan, stop_of(plan)).domain,
                      Grid<std::uint8_t>(plan.domain.rows, plan.domain.cols, 1));
  };
  const Program steady = [](const FloorPlan& plan) {
    return statistics(make_steady_solver(Isa::baseline)->solve(plan, {.accuracy = 1e-9}, {})->field,
                      plan.interior);
  };
  // Each verdict mentions its own keywords and none of the others.
  const Facts keywords{"reference", "short", "100",          "single precision",
                       "all cells", "3000",  "steady state", "digits"};
  for (const auto& [program, expected] : std::vector<std::pair<Program, Facts>>{
           {reference, {"reference"}},
           {[](const FloorPlan& plan) { return of_iterate(plan, stop_of(plan) - 1); }, {"short"}},
           {every_hundredth, {"100"}},
           {single, {"reference", "single precision"}},
           {all_cells, {"reference", "all cells"}},
           {[](const FloorPlan& plan) { return of_iterate(plan, 3000); }, {"3000"}},
           {steady, {"steady state"}}}) {
    const std::string message = verdict(printed(program, 10));
    EXPECT_THAT(message, Mentions("4 of 4"));
    Facts mentioned;
    for (const std::string& keyword : keywords)
      if (contains_fact(message, keyword)) mentioned.push_back(keyword);
    EXPECT_EQ(mentioned, expected) << message;
  }
  EXPECT_THAT(verdict(printed(every_hundredth, 5)), Mentions({"4 of 4", "may be", "digits", "100"}))
      << "few digits leave several programs possible";
}

TEST_F(IterateMatchingTest, RejectsStatisticsOfNoIterate) {
  std::mt19937 random(1);
  const Program wrong = [&](const FloorPlan& plan) {
    Statistics s = reference(plan);
    s.mean_temp *= 1 + 1e-6 * static_cast<double>(1 + random() % 1000);
    return s;
  };
  for (const int digits : {17, 6}) {
    const Report report = report_on(printed(wrong, digits));
    EXPECT_THAT(messages_of(report).front(), AllOf(Mentions("program"), Not(Mentions("of 4"))));
    EXPECT_THAT(rows_of(report, "ways"), IsEmpty());
    EXPECT_EQ(value_of(report, "none"), Value(4));
  }
  const Program odd = [](const FloorPlan& plan) { return of_iterate(plan, stop_of(plan) + 37); };
  const auto rows = rows_of(report_on(printed(odd, 17)), "answers");
  EXPECT_THAT(value_text(rows.at(0).at(1)),
              AllOf(Mentions("another iterate"), Not(Mentions("may be"))));
  EXPECT_EQ(rows.at(0).at(2), Value(std::to_string(stop_of(plans_[0].plan) + 37)));
}

TEST_F(IterateMatchingTest, RejectsSharesForOtherThresholds) {
  EXPECT_THAT(error_message_of<RunError>([&] { (void)report_on("id,pct_above_20.5\n1,3\n"); }),
              Mentions({"mine.csv", "20.5", "18", "remove"}));
  const Statistics s = reference(plans_[1].plan);
  for (const char* column : {"pct_below", "pct_below_15", "pct_below_15.0"})
    EXPECT_EQ(value_of(report_on(fmt::format("id,{}\n2,{}\n", column, s.pct_below)), "none"),
              Value(0))
        << column;
}

TEST_F(IterateMatchingTest, AcceptsAnyColumns) {
  const Statistics s = reference(plans_[1].plan);
  FloorPlan plate = plans_[3].plan;
  plate.source = Grid<double>(plate.domain.rows, plate.domain.cols, 1.0);
  save_floor_plan(directory_.path(), "4", plate);
  const Report report = report_on(
      fmt::format("pct_below_15,note,id,mean_temp\n{},x,\"2\",{}\n1,y,9,2\n,,1,\n1,,4,2\n",
                  s.pct_below, s.mean_temp));
  EXPECT_EQ(value_of(report, "missing"), Value(1));
  const auto rows = rows_of(report, "answers");
  ASSERT_EQ(rows.size(), 4U) << "plan 9 is not in the directory";
  EXPECT_EQ(value_of(report, "unavailable"), Value(1));
  for (const auto& [row, id, facts] : {std::tuple(0U, "2", Facts{"reference"}),
                                       {1U, "1", {"no number"}},
                                       {2U, "4", {"heat source"}},
                                       {3U, "3", {"missing", "mine.csv"}}}) {
    EXPECT_EQ(rows[row].at(0), Value(id));
    EXPECT_THAT(value_text(rows[row].at(1)), Mentions(facts));
  }
  EXPECT_EQ(rows[0].at(2), Value(std::to_string(stop_of(plans_[1].plan))));
  const double last_digit = std::nextafter(s.mean_temp, 99);
  EXPECT_THAT(verdict(fmt::format("id,mean_temp\n2,{}\n", last_digit)),
              Mentions({"reference", "last digits"}));
}

}  // namespace
}  // namespace wallheat
