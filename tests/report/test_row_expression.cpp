#include <limits>
#include <string>

#include "report/room_table.hpp"
#include "report/row_expression.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

PlanResult plan() {
  PlanResult row;
  row.id = "villa";
  row.status = PlanStatus::converged;
  row.statistics = {13.5, 2, 10, 60};
  row.iterations = 801;
  row.host = "gpu07.example";
  row.input_hash = 0xAB;
  return row;
}

bool holds(const std::string& formula) { return RowExpression("where", formula).holds(plan()); }

std::string refusal(const std::string& formula) {
  return refusal_of<UsageError>([&] { (void)RowExpression("where", formula).value(plan()); });
}

TEST(RowExpression, holds_as_sql_does) {
  for (const char* formula : {"id = 'villa'",
                              "id == \"villa\"",
                              "'villa' = id",
                              "id != 'house'",
                              "id <> 'house'",
                              "id IN ('house', 'villa')",
                              "id not in ('house')",
                              "id not in ()",
                              "device != \"cpu\"",
                              "id LIKE '%ILL%'",
                              "id like \"v%\"",
                              "host glob 'gpu*'",
                              "id between 'v' and 'w'",
                              "status = 'converged'",
                              "status != 'failed' AND mean_temp < 14",
                              "status is not 'failed'",
                              "status like 'conv%'",
                              "status in (\"failed\", 'converged')",
                              "pct_below_15 > 50 and mean_temp < 14",
                              "mean_temp < 13 or iterations = 801",
                              "not mean_temp < 13",
                              "NOT (mean_temp < 13)",
                              "mean_temp BETWEEN 13 AND 14",
                              "mean_temp<=13.5 and mean_temp>=1.35e+01",
                              "Mean_Temp > 13",
                              "\"Mean_Temp\" > 13",
                              "abs(mean_temp - 13.5) < 1e-05",
                              "round(mean_temp) = 14",
                              "max(mean_temp, 20) = 20",
                              "- - mean_temp > 0",
                              "iif(status = 'converged', 1, 0)",
                              "case when mean_temp > 13 then 1 else 0 end",
                              "mean_temp > 13 and 'a' < 'b' and 1 < 2",
                              "input_hash = '00000000000000ab'",
                              "\"index\" = 0",
                              "error = ''",
                              "error is not null",
                              "iterations = '801'",
                              "host != 'a && b || c; --'",
                              "id != 'it''s'",
                              "length(device) = 0"})
    EXPECT_TRUE(holds(formula)) << formula;
  for (const char* formula :
       {"mean_temp > 14", "id = 'Villa'", "id = 'ill'", "id like 'ill'", "'mean_temp' < 3",
        "not mean_temp", "id", "host = \"gpu\"", "iterations % 2 = 0", "error", "id in ()"})
    EXPECT_FALSE(holds(formula)) << formula;
}

TEST(RowExpression, never_drops_what_a_division_leaves) {
  for (const char* formula : {"5 / 2 = 2.5", "iterations / 2 = 400.5", "1 / 3 / 2 * 6 = 1",
                              "(1 + 2) / (2 + 2) = 0.75", "'a/b' != id and 5/2 = 2.5"})
    EXPECT_TRUE(holds(formula)) << formula;
}

TEST(RowExpression, compares_a_text_with_the_number_of_its_letters) {
  PlanResult row;
  row.id = "10000";
  for (const char* formula : {"id = 10000", "10000 = id", "id in (10334, 10000)"})
    EXPECT_TRUE(RowExpression("where", formula).holds(row)) << formula;
}

TEST(RowExpression, takes_nan_for_null) {
  const PlanResult pending;
  for (const char* formula : {"mean_temp", "mean_temp < 100", "mean_temp != 3", "not mean_temp < 3",
                              "mean_temp is not null", "mean_temp is 3"})
    EXPECT_FALSE(RowExpression("where", formula).holds(pending)) << formula;
  EXPECT_TRUE(RowExpression("where", "mean_temp is null").holds(pending));
  EXPECT_EQ(RowExpression("sort", "mean_temp + 1").value(pending), FormulaValue());
}

TEST(RowExpression, has_numbers_and_texts_for_values) {
  PlanResult row = plan();
  const RowExpression number("sort", "iterations / 2");
  const RowExpression text("sort", "host");
  EXPECT_EQ(number.value(row), FormulaValue(400.5));
  EXPECT_EQ(text.value(row), FormulaValue("gpu07.example"));
  EXPECT_EQ(RowExpression("sort", "mean_temp > 3").value(row), FormulaValue(1.0));
  row.iterations = 3;
  row.host.clear();
  EXPECT_EQ(number.value(row), FormulaValue(1.5)) << "of the row before";
  EXPECT_EQ(text.value(row), FormulaValue(std::string_view()));
}

TEST(RowExpression, sees_the_columns_of_rooms) {
  RoomRow room{"villa", {}, 0.5};
  room.room.cells = 8;
  room.room.cells_below = 2;
  const RoomExpression both("where", "id = 'villa' and pct_below = 25 and area_m2 = 2");
  EXPECT_TRUE(both.holds(room));
  room.cell_metres = 0;
  EXPECT_FALSE(both.holds(room));
  EXPECT_THAT(refusal_of<UsageError>([] { RoomExpression("where", "status = 'failed'"); }),
              HasSubstr("no such column: status"));
  EXPECT_THAT(refusal_of<UsageError>([] { RoomExpression("where", "id = failed"); }),
              EndsWith("a text stands in quotes: 'failed'"));
}

TEST(RowExpression, says_what_to_write_and_where) {
  struct {
    const char* formula;
    const char* sentence;
  } const refusals[] = {
      {"iterations > 3 && id", "write and for && at character 16"},
      {"iterations > 3 & id", "write and for & at character 16"},
      {"iterations > 3 || id", "write or for || at character 16"},
      {"iterations > 3 | id", "write or for | at character 16"},
      {"!(iterations > 3)", "write not for ! at character 1"},
      {"mean_temp ^ 2", "write pow(a, b) for ^ at character 11"},
      {"mean_temp ** 2", "write pow(a, b) for ** at character 11"},
      {"iterations --3", "write - - for -- at character 12"},
      {"host = 'é' && id", "write and for && at character 12"},
      {"10 < mean_temp < 14", "write a < b and b < c for a < b < c at character 16"},
      {"mean_temp != NULL", "write is null, or is not null at character 11"},
      {"mean_temp == nan", "write is null, or is not null at character 11"},
      {"iterations desc", "write - in front of the formula to sort descending at character 12"},
      {"pct_below_15 > 50 and mean_tmp < 14",
       "no such column: mean_tmp at character 23; did you mean 'mean_temp'?"},
      {"5 / 2 > mean_tmp", "no such column: mean_tmp at character 9; did you mean 'mean_temp'?"},
      {"\"mean_tmp\" < 14",
       "\"mean_tmp\" is no column, and the text is 'mean_tmp' at character 1; "
       "did you mean 'mean_temp'?"},
      {"id = villa", "no such column: villa at character 6; a text stands in quotes: 'villa'"},
      {"id = 00042", "a text stands in quotes: '00042' at character 6"},
      {"host(\"gpu\")", "write host LIKE '%gpu%' at character 1"},
      {"host(3)", "write host LIKE '%abc%' at character 1"},
      {"status == failed", "no such column: failed at character 11; write status = 'failed'"},
      {"status = 'convergd'", "no such status at character 10; did you mean 'converged'?"},
      {"'Converged' = status", "no such status at character 1; did you mean 'converged'?"},
      {"status is not \"fail\"", "no such status at character 15; did you mean 'failed'?"},
      {"status not in ('failed', 'done')",
       "no such status at character 26; there are pending, converged, max_iterations, empty, "
       "failed"},
      {"status = 4", "no such status at character 10; there are pending"},
      {"index > 3",
       "near \"index\": syntax error at character 1; the column is \"index\" in quotes"},
      {"count(*) > 3",
       "misuse of aggregate function count() at character 1; a formula sees one row"},
      {"mean_temp > avg(mean_temp)",
       "misuse of aggregate function avg() at character 13; a formula sees one row"},
      {"max(mean_temp)", "misuse of aggregate"},
      {"row_number() over ()", "misuse of window function"},
      {"mean_temp > (SELECT 3)", "a formula sees one row, and takes no query at character 14"},
      {"id in (values (1))", "a formula sees one row, and takes no query at character 8"},
      {"mean_temp, std_temp", "it must be one value"},
      {"", "it is not complete"},
      {"mean_temp <", "it is not complete"},
      {"(mean_temp > 3", "it is not complete"},
      {"mean_temp > 3)", "no parenthesis is open at character 14"},
      {"mean_temp > 3) or (1", "no parenthesis is open at character 14"},
      {"id = 'villa", "a quote that does not end at character 6"},
      {"id = 'villa''", "a quote that does not end at character 6"},
      {"1; DROP TABLE row", "a sign that no formula has at character 2"},
      {"mean_temp > ?1", "a sign that no formula has at character 13"},
      {"1 /* all", "a sign that no formula has at character 3"},
      {"row.id", "no such column: row.id"},
      {"mean_temp 3", "near \"3\": syntax error at character 11"},
      {"sqr(3)", "no such function: sqr at character 1"},
      {"abs()", "wrong number of arguments to function abs() at character 1"},
      {"load_extension('x')", "not authorized"},
      {"readfile('x')", "no such function: readfile at character 1"},
      {"length(zeroblob(1000000000))", "string or blob too big"},
      {"abs(-9223372036854775807 - 1)", "integer overflow"},
  };
  for (const auto& [formula, sentence] : refusals)
    EXPECT_THAT(refusal(formula), HasSubstr(std::string("'") + formula + "': " + sentence));
  EXPECT_THAT(refusal_of<UsageError>([] { RowExpression("sort", "-"); }),
              HasSubstr("--sort '-': it is not complete"));
}

TEST(RowExpression, refuses_a_hostile_formula_by_a_sentence) {
  const auto many = [](const std::string& text) {
    std::string all;
    while (all.size() < 100'000) all += text;
    return all;
  };
  for (const std::string& formula :
       {many("("), many("(") + "1" + many(")"), many("not "), many("- "), many("abs("),
        many("id = 'a' or ") + "1", many("id in ("), many("case when "), many("a,"),
        many("\"") + "\"", std::string("mean_temp > 3\0 or 1", 19), std::string("\xFF\xFE\x01")})
    EXPECT_NE(refusal(formula), "(accepted)") << formula.substr(0, 9);
  std::string ids = "id in ('villa'";
  for (int k = 0; k < 5'000; ++k) ids += ", '" + std::to_string(k) + "'";
  EXPECT_TRUE(holds(ids + ")"));
}

}  // namespace
}  // namespace wallheat
