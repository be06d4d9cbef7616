#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <tuple>

#include "core/cell_statistics.hpp"
#include "core/generator.hpp"
#include "iterates/iterate_matching.hpp"
#include "report/result_csv.hpp"
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
using testing::AnyOf;

/// The loops of a program that solves the same exercise, in the precision and with the mistakes
/// that programs have. It shares no code with the solvers.
template <class Real = double>
class Loops {
 public:
  explicit Loops(const FloorPlan& plan)
      : plan_(plan), width_(plan.domain.cols + 2), old((plan.domain.rows + 2) * width_) {
    for (std::size_t row = 0; row < plan.domain.rows; ++row)
      for (std::size_t col = 0; col < plan.domain.cols; ++col) {
        const std::size_t cell = (row + 1) * width_ + col + 1;
        old[cell] = static_cast<Real>(plan.domain(row, col));
        if (plan.interior(row, col) != 0) cells_.push_back(cell);
      }
    made = old;
  }
  Loops& sweep() {
    update(made, [&](std::size_t c) {
      return ((old[c - 1] + old[c + 1]) + old[c - width_]) + old[c + width_];
    });
    return *this;
  }
  Loops& sweep_in_another_order() {
    update(made, [&](std::size_t c) {
      return (old[c - width_] + old[c + width_]) + (old[c - 1] + old[c + 1]);
    });
    return *this;
  }
  Loops& sweep_in_place() {
    update(old, [&](std::size_t c) {
      return ((old[c - width_] + old[c + width_]) + old[c - 1]) + old[c + 1];
    });
    return *this;
  }
  Loops& sweeps(std::int64_t count) {
    while (count-- > 0) sweep();
    return *this;
  }
  /// Leaves the last row and the last column of the grid out of the loops.
  Loops& cut_grid() {
    std::erase_if(cells_, [&](std::size_t cell) {
      return cell / width_ == plan_.domain.rows || cell % width_ == plan_.domain.cols;
    });
    for (std::size_t cell = 0; cell < made.size(); ++cell)
      if (cell / width_ == plan_.domain.rows || cell % width_ == plan_.domain.cols) made[cell] = 0;
    return *this;
  }
  /// Returns the 2-norm of the Laplacian of the field.
  [[nodiscard]] double residual() const {
    double sum = 0;
    for (const std::size_t c : cells_) {
      const double cell = old[c - 1] + old[c + 1] + old[c - width_] + old[c + width_] - 4 * old[c];
      sum += cell * cell;
    }
    return std::sqrt(sum);
  }
  [[nodiscard]] Grid<double> field() const {
    Grid<double> field = plan_.domain;
    for (std::size_t row = 0; row < field.rows; ++row)
      for (std::size_t col = 0; col < field.cols; ++col)
        field(row, col) = old[(row + 1) * width_ + col + 1];
    return field;
  }
  [[nodiscard]] Statistics statistics() const {
    return wallheat::statistics(field(), plan_.interior);
  }

 private:
  template <class Sum>
  void update(std::vector<Real>& into, const Sum& sum) {
    largest = 0;
    squares = 0;
    for (const std::size_t c : cells_) {
      const Real value = Real(0.25) * sum(c);
      const Real change = std::abs(value - old[c]);
      largest = std::max(largest, change);
      squares += change * change;
      into[c] = value;
    }
    if (&into == &made) std::swap(old, made);
  }

  const FloorPlan& plan_;
  std::size_t width_;
  std::vector<std::size_t> cells_;

 public:
  std::vector<Real> old, made;  ///< the two buffers, with a border of zeros
  Real largest = 0;             ///< change of the last sweep
  Real squares = 0;             ///< sum of the squares of its changes
};

/// A program that solves the same exercise: returns the statistics that it prints for a plan.
using Program = std::function<Statistics(const FloorPlan&)>;

Statistics of_iterate(const FloorPlan& plan, std::int64_t sweeps) {
  return Loops(plan).sweeps(sweeps).statistics();
}
/// Returns the sweeps until the largest change is below a tolerance.
std::int64_t stop_of(const FloorPlan& plan, double tolerance = 1e-4, std::int64_t limit = 20000) {
  Loops loops(plan);
  for (std::int64_t sweeps = 1; sweeps < limit; ++sweeps)
    if (loops.sweep().largest < tolerance) return sweeps;
  return limit;
}
Statistics reference(const FloorPlan& plan) { return of_iterate(plan, stop_of(plan)); }
Statistics every_hundredth(const FloorPlan& plan) {
  return of_iterate(plan, (stop_of(plan) + 99) / 100 * 100);
}
/// Returns the statistics of some values.
Statistics statistics_of(const std::vector<double>& values) {
  return summarize_cells(values, Thresholds()).statistics;
}

/// Returns a plan with an interior cell that stays at 0 because its neighbours do.
FloorPlan with_pocket(FloorPlan plan) {
  plan.domain(0, 0) = plan.domain(0, 1) = plan.domain(1, 0) = 0;
  plan.interior(0, 1) = plan.interior(1, 0) = 0;
  plan.interior(0, 0) = 1;
  return plan;
}

class IterateMatchingTest : public testing::Test {
 protected:
  IterateMatchingTest() {
    plans_ = {{"1", room(40, 50)},
              {"2", generate_floor_plan(3, 0, 24)},
              {"3", generate_floor_plan(3, 1, 24)},
              {"4", generate_floor_plan(3, 2, 24)},
              {"5", random_plan(24, 24, 97, 2)},  // rooms that touch the edges of the grid
              {"6", with_pocket(generate_floor_plan(3, 3, 24))}};
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
    Loops<float> loops(plan);
    while (loops.sweep().largest >= 1e-4F) continue;
    const std::vector<double> values = interior_values(loops.field(), plan.interior);
    return single_precision_statistics(std::vector<float>(values.begin(), values.end()));
  };
  const Program all_cells = [](const FloorPlan& plan) {
    return statistics_of(Loops(plan).sweeps(stop_of(plan)).field().cells);
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
    EXPECT_THAT(message, Mentions("6 of 6"));
    Facts mentioned;
    for (const std::string& keyword : keywords)
      if (contains_fact(message, keyword)) mentioned.push_back(keyword);
    EXPECT_EQ(mentioned, expected) << message;
  }
}

TEST_F(IterateMatchingTest, IdentifiesUnusualProgramsAndNoneWronglyWithFewDigits) {
  const auto until = [](const auto& is_done, std::int64_t interval) -> Program {
    return [=](const FloorPlan& plan) {
      Loops loops(plan);
      do {
        loops.sweeps(interval);
      } while (!is_done(loops));
      return loops.statistics();
    };
  };
  std::int64_t slowest = 0;
  for (const auto& [id, plan] : plans_) slowest = std::max(slowest, stop_of(plan));
  for (const auto& [program, facts] : std::vector<std::pair<Program, Facts>>{
           {[](const FloorPlan& plan) { return of_iterate(plan, 1); }, {"1 sweep"}},
           {[](const FloorPlan& plan) { return of_iterate(plan, 777); }, {"777 sweeps"}},
           {[=](const FloorPlan& plan) { return of_iterate(plan, slowest); },
            {fmt::format("{} sweeps", slowest)}},
           {[](const FloorPlan& plan) { return of_iterate(plan, stop_of(plan, 1e-6)); }, {"1e-06"}},
           {[](const FloorPlan& plan) { return of_iterate(plan, stop_of(plan, 1e-3, 300)); },
            {"0.001", "300 sweeps"}},
           {until([](const Loops<>& loops) { return std::sqrt(loops.squares) < 1e-3; }, 1),
            {"2-norm of the change", "0.001"}},
           {until([](const Loops<>& loops) { return loops.residual() < 1e-2; }, 50),
            {"2-norm of the residual", "0.01", "50th"}},
           {[](const FloorPlan& plan) {
              Loops loops(plan);
              while (loops.sweep_in_place().largest >= 1e-4) continue;
              return loops.statistics();
            },
            {"in place"}},
           {[](const FloorPlan& plan) {
              Loops loops(plan);
              std::ranges::fill(loops.made, 0.0);
              return loops.sweeps(500).statistics();
            },
            {"buffer of zeros", "500"}},
           {[](const FloorPlan& plan) { return Loops(plan).cut_grid().sweeps(500).statistics(); },
            {"last row and column", "500"}},
           {[](const FloorPlan& plan) {
              Loops<float> loops(plan);
              for (int sweep = 0; sweep < 500; ++sweep) loops.sweep_in_another_order();
              return loops.statistics();
            },
            {"single precision", "neighbours in another order", "500"}},
           {[](const FloorPlan& plan) {
              std::vector<double> values = Loops(plan).sweeps(stop_of(plan)).field().cells;
              std::erase_if(values, [](double v) { return v == 0 || v == 5 || v == 25; });
              return statistics_of(values);
            },
            {"reference", "not 0, 5 or 25"}}}) {
    const std::string full = verdict(printed(program, 17));
    EXPECT_THAT(full, AllOf(Mentions("6 of 6"), Mentions(facts), Not(Mentions("may be"))));
    const Report rounded = report_on(printed(program, 5));
    const std::string message = messages_of(rounded).front();
    if (value_of(rounded, "is_decided") == Value(true))
      EXPECT_THAT(message, Mentions(facts));
    else
      EXPECT_THAT(message, AnyOf(Mentions("may be"), Mentions("no known program")));
  }
  EXPECT_THAT(verdict(printed(every_hundredth, 5)), Mentions({"6 of 6", "may be", "digits", "100"}))
      << "few digits leave several programs possible";
}

TEST_F(IterateMatchingTest, NamesPlansThatContradictAnExplanation) {
  const Program all_but_one = [&](const FloorPlan& plan) {
    const bool is_other = plan.domain == plans_[2].plan.domain;
    return of_iterate(plan, stop_of(plan) + (is_other ? 3 : 0));
  };
  const Report report = report_on(printed(all_but_one, 17));
  EXPECT_THAT(messages_of(report).front(),
              Mentions({"no known program", "5 of 6", "reference", "1 plan contradicts it: 3"}));
  EXPECT_EQ(value_of(report, "is_decided"), Value(false));
  EXPECT_EQ(value_of(report, "fits"), Value(5));
  EXPECT_EQ(value_of(report, "contradictions"), Value(1));
  const auto rows = rows_of(report, "answers");
  EXPECT_THAT(value_text(rows.at(2).at(1)), Mentions("another iterate"));
  EXPECT_EQ(rows.at(2).at(2), Value(std::to_string(stop_of(plans_[2].plan) + 3)));
}

TEST_F(IterateMatchingTest, ReportsBracketOfTolerance) {
  const Report report = report_on(printed(
      [](const FloorPlan& plan) { return of_iterate(plan, stop_of(plan, 3e-5, 400)); }, 17));
  EXPECT_EQ(cell_of(report, "ways", 0, "tolerance"), Value(3e-5));
  EXPECT_EQ(cell_of(report, "ways", 0, "max_sweeps"), Value(400));
  EXPECT_EQ(cell_of(report, "ways", 0, "contradictions"), Value(0));
  EXPECT_LT(std::get<double>(cell_of(report, "ways", 0, "tolerance_above")), 3e-5);
  EXPECT_GE(std::get<double>(cell_of(report, "ways", 0, "tolerance_up_to")), 3e-5);
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
    EXPECT_THAT(messages_of(report).front(), AllOf(Mentions("program"), Not(Mentions("of 6"))));
    EXPECT_THAT(rows_of(report, "ways"), IsEmpty());
    EXPECT_EQ(value_of(report, "none"), Value(6));
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

/// Stops of a program, and the iterations that it reports.
using Stops = std::function<std::pair<std::int64_t, std::int64_t>(const FloorPlan&)>;

TEST_F(IterateMatchingTest, ReportsWhetherResultsOfFileAreAsRequested) {
  const SharedPlanSource source = directory_source(directory_.path());
  const auto report_for = [&](const Stops& stops, const SolverOptions& requested) {
    ResultCsv csv;
    csv.name = "r.h5";
    csv.missing.emplace();
    for (const auto& [id, plan] : plans_) {
      const auto [sweeps, reported] = stops(plan);
      const Statistics s = of_iterate(plan, sweeps);
      CsvResult& result = csv.plans.emplace_back(CsvResult{id, {}, reported});
      for (std::size_t i = 0; i < printed_columns.size(); ++i)
        result.numbers.at(i) = {s.*printed_columns.at(i).of, 1e-15};
    }
    return identify_iterates(csv, *source, &requested);
  };
  const auto stops_at = [](double tolerance, std::int64_t limit, std::int64_t more = 0) -> Stops {
    return [=](const FloorPlan& plan) {
      const std::int64_t sweeps = stop_of(plan, tolerance, limit);
      return std::pair(sweeps, sweeps + more);
    };
  };
  SolverOptions usual, few_iterations, strict, l2;
  few_iterations.limits.max_iterations = 90;
  strict.limits.tolerance = 1e-6;
  l2.limits.norm = Norm::l2;
  for (const auto& [stops, requested, facts] : std::vector<std::tuple<Stops, SolverOptions, Facts>>{
           {stops_at(1e-4, 20000), usual, {}},
           {stops_at(1e-6, 20000), strict, {}},
           {stops_at(1e-4, 90), few_iterations, {}},
           {stops_at(1e-4, 89), few_iterations, {"90", "89 sweeps", "5 plans", "fewer"}},
           {stops_at(1e-4, 91), few_iterations, {"90", "91 sweeps", "5 plans", "more"}},
           {stops_at(1e-4, 20000, -1), usual, {"reported iterations", "1 less", "6 plans"}},
           {stops_at(1e-4, 90, 2), few_iterations, {"reported iterations", "2 more", "6 plans"}},
           {stops_at(1e-6, 20000), usual, {"0.0001", "1e-06", "6 plans", "more sweeps"}},
           {stops_at(1e-2, 20000), usual, {"0.0001", "0.01", "6 plans", "fewer sweeps"}},
           {stops_at(1e-4, 20000), l2, {"l2", "6 plans", "fewer sweeps"}}}) {
    const Report report = report_for(stops, requested);
    const std::string message = value_text(value_of(report, "request"));
    EXPECT_EQ(value_of(report, "as_requested"), Value(facts.empty())) << message;
    EXPECT_THAT(message, facts.empty() ? Mentions("as requested")
                                       : AllOf(Mentions("NOT as requested"), Mentions(facts)));
    EXPECT_EQ(cell_of(report, "answers", 0, "problem").is_known(), !facts.empty());
  }
}

TEST_F(IterateMatchingTest, AcceptsAnyColumns) {
  const Statistics s = reference(plans_[1].plan);
  FloorPlan plate = plans_[3].plan;
  plate.source = Grid<double>(plate.domain.rows, plate.domain.cols, 1.0);
  save_floor_plan(directory_.path(), "4", plate);
  const Report report = report_on(
      fmt::format("pct_below_15,note,id,mean_temp\n{},x,\"2\",{}\n1,y,9,2\n,,1,\n1,,4,2\n",
                  s.pct_below, s.mean_temp));
  EXPECT_EQ(value_of(report, "missing"), Value(3));
  const auto rows = rows_of(report, "answers");
  ASSERT_EQ(rows.size(), 6U) << "plan 9 is not in the directory";
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
