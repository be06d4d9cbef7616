#include <sstream>

#include "report/gnuplot.hpp"
#include "report/summary.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "support/report_values.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using testing::AllOf;

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

TEST_F(OfFivePlans, has_answers_and_names_plans) {
  rows_[3].id = "d";
  rows_[3].peak_memory = 1'250'000'000;  // of a plan that failed, too
  rows_[0].peak_memory = 23'400'000;
  const Report report = report_of(summary_of(rows_of(rows_)));
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
  std::ostringstream text;
  rows_.resize(1);
  write_text(report_of(summary_of(rows_of(rows_))), text);
  EXPECT_THAT(text.str(), HasSubstr("1 plan, 100.0 %"));
}

TEST(WallTime, names_the_rank_that_held_the_most_memory) {
  const Attributes first{{"seconds", "5"}, {"rank_memory", "0:45200000 1:31000000"}};
  const Attributes second{{"seconds", "5"}, {"rank_memory", "0:40000000 12:50000000"}};
  const Attributes silent{{"seconds", "5"}, {"rank_memory", ""}};
  EXPECT_EQ(wall_time({silent, Attributes()}).rank_memory, 0) << "unknown";
  EXPECT_EQ(wall_time({first, second, silent}).rank_memory, 50'000'000);
  EXPECT_EQ(wall_time({first, second, silent}).rank, 12);
}

TEST(WallTime, of_parts_that_ran_at_the_same_time_counts_once) {
  const auto part = [](const std::string& minute) {
    return Attributes{{"seconds", "100"}, {"started_utc", "2030-01-02T03:" + minute + ":00.000Z"}};
  };
  EXPECT_EQ(wall_time({part("00"), part("01")}).seconds, 160);
}

TEST_F(OfFivePlans, are_drawn_with_lines_at_mean_and_median) {
  const Report report = report_of(summary_of(rows_of(rows_)));
  const Figure& figure = *report.first<Figure>();
  EXPECT_EQ(figure.y.name, "plans in 0.5 °C");
  EXPECT_THAT(figure.series.at(1).x, ElementsAre(15, 15)) << "the mean";
  EXPECT_THAT(
      draw(report, PlotFormat::svg),
      AllOf(HasSubstr("mean 15.00 °C"), HasSubstr("median 14.00 °C"), HasSubstr("3 plans")));
  EXPECT_THAT(report_of(summary_of([](const auto&) {})).first<Figure>()->series, IsEmpty());
}

TEST(Summary, tells_failures_by_cause) {
  std::vector<PlanResult> rows(3);
  const auto fail = [&](std::size_t row, const std::string& id, const std::string& error) {
    rows[row].id = id;
    rows[row].status = PlanStatus::failed;
    rows[row].error = error;
  };
  fail(0, "a", "plan a has no file");
  fail(1, "b", "plan b has no file");
  fail(2, "c", "plan c is none");
  const Report report = report_of(summary_of(rows_of(rows)));
  const Table& causes = table_of(report, "failures");
  ASSERT_THAT(causes.rows, SizeIs(2));
  EXPECT_THAT(causes.rows[0], ElementsAre(Value(2), Value("plan ID has no file"), Value("a, b"),
                                          Value("wallheat solve a --data PLANS")));
  EXPECT_EQ(causes.rows[1].at(1), Value("plan c is none"));
}

TEST(Plot, has_a_format_by_the_files_ending) {
  EXPECT_EQ(plot_format("plot", "a.PNG"), PlotFormat::png);
  EXPECT_THROW((void)plot_format("plot", "png"), UsageError);
}

TEST(Plot, writes_letters_that_no_font_has_by_their_numbers) {
  const auto png = [](const std::string& title) {
    Plot plot(400, 300);
    plot.add("set title {}", Plot::quoted(title));
    plot.add("plot 1");
    return plot.draw(PlotFormat::png);
  };
  EXPECT_EQ(png("plan \uE000"), png("plan U+E000")) << "a letter for private use";
  EXPECT_NE(png("plan é"), png("plan e"));
}

TEST(Plot, says_what_gnuplot_did_not_understand) {
  Plot plot(400, 300);
  plot.add("plot nonsense(");
  EXPECT_THAT(refusal_of<RunError>([&] { (void)plot.draw(PlotFormat::svg); }),
              HasSubstr("gnuplot failed"));
}

}  // namespace
}  // namespace wallheat
