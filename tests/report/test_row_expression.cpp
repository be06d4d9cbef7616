#include <cmath>

#include "report/row_expression.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

PlanResult plan() {
  PlanResult row;
  row.id = "00042";
  row.status = PlanStatus::converged;
  row.statistics = {13.5, 2, 10, 60};
  row.iterations = 800;
  row.host = "node07";
  return row;
}

bool holds(const std::string& formula) { return RowExpression("where", formula).holds(plan()); }

std::string refusal(const std::string& formula) {
  return refusal_of<UsageError>([&] { const RowExpression expression("where", formula); });
}

TEST(RowExpression, compares_columns_with_numbers) {
  EXPECT_TRUE(holds("pct_below_15 > 50 and mean_temp < 14"));
  EXPECT_FALSE(holds("pct_below_15 > 50 and mean_temp < 13"));
  EXPECT_TRUE(holds("mean_temp < 13 or iterations == 800"));
  EXPECT_TRUE(holds("not(mean_temp < 13)"));
  EXPECT_TRUE(holds("abs(mean_temp - 13.5) < 1e-12"));
  EXPECT_EQ(RowExpression("sort", "iterations / 8").value(plan()), 100);
}

TEST(RowExpression, knows_statuses_by_their_names_and_texts_by_a_word) {
  EXPECT_TRUE(holds("status == converged"));
  EXPECT_TRUE(holds("status != failed"));
  EXPECT_TRUE(holds("host(\"node\")"));
  EXPECT_FALSE(holds("host(\"node08\") or id(\"43\")"));
  EXPECT_FALSE(holds("host(\"a=b\")"));
}

TEST(RowExpression, takes_nothing_for_true_that_is_no_number) {
  PlanResult pending;
  EXPECT_FALSE(RowExpression("where", "mean_temp").holds(pending));
  EXPECT_FALSE(RowExpression("where", "mean_temp < 100").holds(pending));
  EXPECT_TRUE(std::isnan(RowExpression("sort", "mean_temp").value(pending)));
}

TEST(RowExpression, says_what_is_wrong_and_where) {
  EXPECT_THAT(refusal("pct_below_15 > 50 and mean_tmp < 14"),
              AllOf(HasSubstr("--where"), HasSubstr("\"mean_tmp\""), HasSubstr("at character 23"),
                    HasSubstr("did you mean 'mean_temp'?")));
  EXPECT_THAT(refusal("status = failed"), AllOf(HasSubstr("=="), HasSubstr("at character 8")));
  EXPECT_THAT(refusal("host == 3"), HasSubstr("host is text: host(\"abc\")"));
  EXPECT_THAT(refusal("(mean_temp > 3"), HasSubstr("parenthesis"));
  EXPECT_THAT(refusal("mean_temp, std_temp"), HasSubstr("2 values"));
  for (const char* formula : {"", "mean_temp <", "host", "host(3)", "host('x')", "no such", "< 3"})
    EXPECT_NE(refusal(formula), "(accepted)") << formula;
}

TEST(RowExpression, leaves_comparisons_alone_that_have_an_equals_sign) {
  EXPECT_TRUE(holds("mean_temp <= 14 and mean_temp >= 13 and iterations != 3"));
}

}  // namespace
}  // namespace wallheat
