#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <random>

#include "core/generator.hpp"
#include "core/interior_values.hpp"
#include "report/answer_csv.hpp"
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

/// A program that somebody wrote for the exercise: what it prints for a plan.
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

class WhoseIterate : public testing::Test {
 protected:
  WhoseIterate() {
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
  Report named(const std::string& csv) {
    std::ofstream(file_) << csv;
    return name_iterates(file_.string(), *directory_source(directory_.path()));
  }
  /// What a program prints, to so many digits.
  std::string printed(const Program& program, int digits) {
    std::string csv = "building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n";
    for (const auto& [id, plan] : plans_) {
      const Statistics s = program(plan);
      csv += fmt::format("{}, {:.{}g}, {:.{}g}, {:.{}g}, {:.{}g}\n", id, s.mean_temp, digits,
                         s.std_temp, digits, s.pct_above_18, digits, s.pct_below_15, digits);
    }
    return csv;
  }
  /// The sentence of what the program does.
  std::string verdict(const std::string& csv) { return sentences_of(named(csv)).front(); }

  TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_ / "mine.csv";
  std::vector<NamedPlan> plans_;
};

TEST_F(WhoseIterate, is_told_of_each_usual_program) {
  const Program single = [](const FloorPlan& plan) {
    SinglePrecision program(plan);
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
  const std::string multiples =
      "iterates at multiples of 100: the stop is looked at every 100th sweep";
  for (const auto& [program, how] :
       {std::pair(Program(reference), std::string("the reference's answer")),
        {[](const FloorPlan& plan) { return of_iterate(plan, stop_of(plan) - 1); },
         "iterates one sweep short: the field before the last update is returned"},
        {every_hundredth, multiples},
        {single, "the reference's answer, in single precision"},
        {all_cells, "the reference's answer, averaged over all cells of the grid"},
        {[](const FloorPlan& plan) { return of_iterate(plan, 3000); },
         "iterates after 3000 sweeps without a stop"},
        {steady, "the steady state"}})
    EXPECT_EQ(verdict(printed(program, 10)), "4 of 4 plans are " + how);
  EXPECT_THAT(
      verdict(printed(every_hundredth, 5)),
      AllOf(StartsWith("4 of 4 plans may be, as far as their digits"), HasSubstr(multiples + ";")));
}

TEST_F(WhoseIterate, is_not_told_of_what_is_none) {
  std::mt19937 random(1);
  const Program wrong = [&](const FloorPlan& plan) {
    Statistics s = reference(plan);
    s.mean_temp *= 1 + 1e-6 * static_cast<double>(1 + random() % 1000);
    return s;
  };
  for (const int digits : {17, 6}) {
    const Report report = named(printed(wrong, digits));
    EXPECT_EQ(sentences_of(report).front(), "no usual program prints these answers");
    EXPECT_EQ(value_of(report, "none"), Value(4));
  }
  const Program odd = [](const FloorPlan& plan) { return of_iterate(plan, stop_of(plan) + 37); };
  const auto rows = rows_of(named(printed(odd, 17)), "answers");
  EXPECT_EQ(rows.at(0).at(1), Value("another iterate"));
  EXPECT_EQ(rows.at(0).at(2), Value(std::to_string(stop_of(plans_[0].plan) + 37)));
}

TEST_F(WhoseIterate, is_told_of_any_columns_and_of_missing_plans) {
  const Statistics s = reference(plans_[1].plan);
  FloorPlan plate = plans_[3].plan;
  plate.source = Grid<double>(plate.domain.rows, plate.domain.cols, 1.0);
  save_floor_plan(directory_.path(), "4", plate);
  const Report report =
      named(fmt::format("pct_below_15,note,id,mean_temp\n{},x,\"2\",{}\n1,y,9,2\n,,1,\n1,,4,2\n",
                        s.pct_below_15, s.mean_temp));
  EXPECT_EQ(value_of(report, "missing"), Value(1));
  const auto rows = rows_of(report, "answers");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].at(1), Value("the reference's answer"));
  EXPECT_THAT(value_text(rows[1].at(1)), HasSubstr("9_domain.npy"));
  EXPECT_EQ(rows[2].at(1), Value("no number is given"));
  EXPECT_THAT(value_text(rows[3].at(1)), HasSubstr("heat source"));
  EXPECT_THAT(value_text(rows[4].at(1)), StartsWith("missing in "));
  const double last_digit = std::nextafter(s.mean_temp, 99);
  EXPECT_THAT(verdict(fmt::format("id,mean_temp\n2,{}\n", last_digit)),
              HasSubstr("the reference's answer, but for the last digits"));
}

TEST(AnswerCsv, is_refused_with_its_line) {
  const TemporaryDirectory directory;
  const std::string file = directory / "mine.csv";
  for (const auto& [csv, sentence] :
       {std::pair("plan,mean_temp\n", "mine.csv is no CSV with the column building_id"),
        {"id,mean\n", "some of mean_temp, std_temp"},
        {"id,mean_temp\n1,warm\n", "line 2: 'warm' is no number"},
        {"id,mean_temp,std_temp\n1,2\n", "line 2: there must be 3 values"},
        {"id,mean_temp\n ,2\n", "line 2: there is no id"},
        {"id,mean_temp\n1,2\n\n1,2\n", "line 4: plan 1 is there twice"},
        {"id,mean_temp\n", "holds no plan"}}) {
    std::ofstream(file) << csv;
    EXPECT_THAT(error_message_of<RunError>([&] { (void)read_answers(file); }), HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace wallheat
