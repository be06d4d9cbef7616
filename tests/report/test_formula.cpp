#include <algorithm>
#include <cmath>
#include <string>

#include "report/row_table.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

// Formulas of --where and --sort over the columns of plans and rooms, and the rows that they
// select.

namespace wallheat {
namespace {

PlanResult villa() {
  PlanResult row;
  row.id = "villa";
  row.status = PlanStatus::converged;
  row.statistics = {13.5, 2, 10, 60};
  row.iterations = 801;
  row.host = "gpu07.example";
  row.input_hash = 0xAB;
  return row;
}

bool holds(const std::string& formula, const PlanResult& plan = villa()) {
  const std::vector<PlanResult> rows{plan};
  return !select_rows(rows_of(rows), {.where = formula}).empty();
}

std::string error_message(const std::string& formula) {
  return error_message_of<UsageError>([&] { (void)holds(formula); });
}

/// Returns the part of an error message that follows the formula, so that words of the formula
/// itself are not taken for facts of the error.
std::string error_reason(const std::string& message, const std::string& formula) {
  EXPECT_THAT(message, Mentions({"--where", formula}));
  return message.substr(std::min(message.find(formula) + formula.size(), message.size()));
}

TEST(Formula, EvaluatesSqlConditions) {
  for (const char* formula :
       {"id == \"villa\" and device != \"cpu\"", "id IN ('house', 'villa') and id not in ('house')",
        "id LIKE '%ILL%' and host glob 'gpu*' and status like 'conv%'",
        "status in (\"failed\", 'converged', 'empty')",
        "mean_temp BETWEEN 13 AND 1.4e+01 and abs(mean_temp) > 1e-05",
        "mean_temp>=13 and mean_temp<14 or (1 <> 2) > 3", "Mean_Temp > 13 and \"Mean_Temp\" > 13",
        "round(mean_temp) = 14 and max(mean_temp, 20) = 20",
        "case when mean_temp > 13 then 1 else 0 end",
        "input_hash = '00000000000000ab' and iterations = '801'",
        "error = '' and error is not null and predicted_s is null",
        "host != 'a && b || c; --' and id != 'it''s'",
        "5 / 2 = 2.5 and iterations / 2 = 400.5 and 'a/b' != id"})
    EXPECT_TRUE(holds(formula)) << formula;
  for (const char* formula : {"id = 'Villa'", "id like 'ill'", "not mean_temp", "id",
                              "host = \"gpu\"", "iterations % 2 = 0", "error"})
    EXPECT_FALSE(holds(formula)) << formula;
  PlanResult numbered = villa();
  numbered.id = "10000";
  EXPECT_TRUE(holds("id = 10000 and id in (10334, 10000, 3)", numbered));
}

TEST(Formula, TreatsNanAsNull) {
  const PlanResult pending;
  for (const char* formula : {"mean_temp", "mean_temp < 100", "mean_temp != 3", "not mean_temp < 3",
                              "mean_temp is not null"})
    EXPECT_FALSE(holds(formula, pending)) << formula;
  EXPECT_TRUE(holds("mean_temp is null", pending));
}

TEST(Formula, EvaluatesRoomColumns) {
  PlanResult room = villa();
  room.rooms.emplace_back();
  room.rooms.front().cells = 8;
  room.rooms.front().cells_below = 2;
  EXPECT_EQ(Formula("where", "id = 'villa' and pct_below = 25 and area_m2 = 2", room_columns(0.5))
                .value(room),
            Value(1.0));
  for (const std::string unknown : {"status", "area_m2"}) {
    const std::string formula = unknown + " > 1";
    const std::string message =
        error_message_of<UsageError>([&] { Formula("where", formula, room_columns(0)); });
    EXPECT_THAT(error_reason(message, formula), Mentions({"column", unknown}));
  }
}

TEST(ParseColumns, SuggestsNewNameOfRenamedColumn) {
  for (const auto& [old_name, new_name] :
       {std::pair("pct_below_15_most", "'pct_below_upper'"), {"store_s", "'store_wait_s'"}})
    EXPECT_THAT(error_message_of<UsageError>(
                    [&] { (void)parse_columns("columns", old_name, all_columns()); }),
                Mentions({"--columns", old_name, std::string("did you mean ") + new_name}));
  EXPECT_THAT(error_message_of<UsageError>(
                  [&] { (void)parse_columns("columns", "store_s", room_columns(0)); }),
              Not(Mentions("store_wait_s")))
      << "rooms do not have this column";
}

TEST(Formula, NamesErrorInInvalidFormula) {
  for (const auto& [formula, facts] : std::vector<std::pair<std::string, Facts>>{
           {"iterations > 3 && id", {"and", "&"}},
           {"iterations > 3 || id", {"or", "|"}},
           {"pct_below > 50 and mean_tmp < 14", {"column", "mean_tmp", "mean_temp"}},
           {"pct_above_18 > 3", {"column", "'pct_above'"}},
           {"100 - pct_below_15 > 3", {"column", "'pct_below'"}},
           {"pct_above_18_least > 3", {"column", "'pct_above_lower'"}},
           {"pct_above_18_most > 3", {"column", "'pct_above_upper'"}},
           {"pct_below_15_least > 3", {"column", "'pct_below_lower'"}},
           {"pct_below_15_most > 3", {"column", "'pct_below_upper'"}},
           {"\"cells_in_doubt\" > 0", {"column", "'uncertain_cells'"}},
           {"store_s > 1", {"column", "'store_wait_s'"}},
           {"\"mean_tmp\" < 14", {"column", "\"mean_tmp\"", "'mean_tmp'", "mean_temp"}},
           {"10 < mean_temp < 14", {"a < b and b < c"}},
           {"id = villa", {"column", "'villa'"}},
           {"id = 00042", {"'00042'"}},
           {"mean_temp > 3 and 'Converged' = status", {"status", "'Converged'", "'converged'"}},
           {"status not in ('failed', 'done', 'empty')",
            {"status", "'done'", "pending", "converged", "max_iterations", "empty", "failed"}},
           {"count(*) > 3", {"aggregate", "count()"}},
           {"mean_temp, std_temp", {"one value"}},
           {"(mean_temp > 3", {"complete"}},
           {"id = 'villa", {"quote"}},
           {"1; DROP TABLE row", {"';'"}},
           {"1); select (1", {"')'"}},
           {"1) or (1", {"')'"}},
           {"mean_temp > 3 -- and so on", {"--", "comment"}},
           {"5--3", {"--", "- -1"}},
           {"1 /* ) */", {"/*", "comment"}},
           {"[mean_temp] > 3", {"'['"}},
           {"`mean_temp` > 3", {"'`'"}},
           {"mean_temp > ?1", {"'?'"}},
           {"mean_temp > (SELECT 3)", {"select"}},
           {"mean_temp in (values (3))", {"values"}},
           // Errors of SQLite.
           {"sqr(3)", {"function", "sqr"}},
           {"load_extension('x')", {"not authorized"}},
           {"length(zeroblob(1000000000))", {"too big"}},
           {"abs(-9223372036854775807 - 1)", {"integer overflow"}}})
    EXPECT_THAT(error_reason(error_message(formula), formula), Mentions(facts)) << formula;
}

TEST(Formula, IsOneExpressionForWhereAndSort) {
  const std::vector<PlanResult> rows{villa()};
  for (const std::string formula :
       {"1); select (1", "1) union select (2", "1) from (select 3", "1) --", "mean_temp) or (1",
        "1)\n;", "1 as [(]) from (select 1 as [)", "(with x(n) as (values (1)) select n from x)"}) {
    EXPECT_NE(error_message(formula), "(no error)") << formula;
    for (const std::string& sort : {formula, "-" + formula})
      EXPECT_THAT(
          error_message_of<UsageError>([&] { (void)select_rows(rows_of(rows), {.sort = sort}); }),
          Mentions("--sort"))
          << sort;
  }
  EXPECT_NE(error_message(std::string("mean_temp)\0", 11)), "(no error)");
  EXPECT_TRUE(holds("id != ') or ; select -- [ (' and (1)"));
}

TEST(Formula, RejectsHostileInput) {
  const auto many = [](const std::string& text) {
    std::string all;
    while (all.size() < 100'000) all += text;
    return all;
  };
  for (const std::string& formula :
       {many("("), many("(") + "1" + many(")"), many("not "), many("id = 'a' or ") + "1",
        many("id in ("), many("\"") + "\"", std::string("mean_temp > 3\0 or 1", 19),
        std::string("\xFF\xFE\x01")})
    EXPECT_NE(error_message(formula), "(no error)") << formula.substr(0, 9);
  EXPECT_TRUE(holds("id in ('villa', " + many("'another', ") + "'last')"));
}

std::vector<PlanResult> four_plans() {
  std::vector<PlanResult> rows(4);
  const double means[] = {14, nan_value, 12, 17};
  for (std::size_t i = 0; i < 4; ++i) {
    rows[i].id = std::string(1, static_cast<char>('a' + i));
    rows[i].statistics.mean_temp = means[i];
    rows[i].host = i < 2 ? "node" : "another node, whose name is long";
  }
  return rows;
}

std::string ids(const RowSelection& choice) {
  const auto all = four_plans();
  std::string text;
  for (const std::size_t row : select_rows(rows_of(all), choice)) text += all[row].id;
  return text;
}

TEST(SelectRows, FiltersThenSortsThenTruncates) {
  for (const auto& [choice, expected] : std::vector<std::pair<RowSelection, const char*>>{
           {{}, "abcd"},
           {{.where = "mean_temp > 13"}, "ad"},
           {{.sort = "mean_temp"}, "cadb"},  // rows without a value come last
           {{.sort = "-mean_temp"}, "dacb"},
           {{.sort = "mean_temp", .first = 2}, "ca"},
           {{.where = "mean_temp is not null", .sort = "-mean_temp"}, "dac"},
           {{.sort = "host"}, "cdab"},  // equal rows keep their order
           {{.sort = "-host"}, "abcd"},
           // Order: numbers, strings, no value.
           {{.sort = "iif(id = 'b', null, iif(id = 'c', host, mean_temp))"}, "adcb"},
           {{.sort = "-iif(id = 'b', null, iif(id = 'c', host, mean_temp))"}, "cdab"}})
    EXPECT_EQ(ids(choice), expected) << choice.where << " by " << choice.sort;
}

}  // namespace
}  // namespace wallheat
