#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/row_table.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

std::vector<PlanResult> rows() {
  std::vector<PlanResult> rows(4);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double means[] = {14, nan, 12, 17};
  for (std::size_t i = 0; i < 4; ++i) {
    rows[i].id = std::string(1, static_cast<char>('a' + i));
    rows[i].statistics.mean_temp = means[i];
    rows[i].host = i < 2 ? "node" : "another node, whose name is long";
  }
  return rows;
}

std::string ids(const RowChoice& choice) {
  const auto all = rows();
  std::string text;
  for (const std::size_t row : chosen_rows(rows_of(all), choice)) text += all[row].id;
  return text;
}

TEST(ChosenRows, are_filtered_then_sorted_then_cut) {
  EXPECT_EQ(ids({}), "abcd");
  EXPECT_EQ(ids({.where = "mean_temp > 13"}), "ad");
  EXPECT_EQ(ids({.sort = "mean_temp"}), "cadb") << "what has no value comes last";
  EXPECT_EQ(ids({.sort = "-mean_temp"}), "dacb");
  EXPECT_EQ(ids({.sort = "mean_temp", .first = 2}), "ca");
  EXPECT_EQ(ids({.where = "mean_temp is not null", .sort = "-mean_temp"}), "dac");
}

TEST(ChosenRows, are_sorted_by_texts_too) {
  EXPECT_EQ(ids({.sort = "-id"}), "dcba");
  EXPECT_EQ(ids({.sort = "host"}), "cdab") << "in the order of the rows where they are alike";
  EXPECT_EQ(ids({.sort = "-host"}), "abcd");
  EXPECT_EQ(ids({.where = "id != 'c'", .sort = "host"}), "dab");
  EXPECT_EQ(ids({.sort = "iif(id = 'b', null, iif(id = 'c', host, mean_temp))"}), "adcb")
      << "numbers, texts, nothing";
  EXPECT_EQ(ids({.sort = "-iif(id = 'b', null, iif(id = 'c', host, mean_temp))"}), "cdab");
}

TEST(Columns, are_found_by_name) {
  const auto some = columns_named("columns", "mean_temp,id");
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[0].name, "mean_temp");
  EXPECT_TRUE(some[1].is_text);
  EXPECT_EQ(columns_named("columns", "all").front().name, "id");
  EXPECT_GT(columns_named("columns", "all").size(), 10U);
  for (const char* names : {"", "id,", "id,,mean_temp", "means"})
    EXPECT_THROW((void)columns_named("columns", names), UsageError) << names;
}

TEST(Csv, quotes_what_would_break_it) {
  PlanResult row;
  row.id = "a,b";
  row.error = "it said \"no\"\nand left";
  row.statistics.mean_temp = 14.25;
  std::ostringstream out;
  write_csv(out, rows_of({row}),
            columns_named("columns", "id,status,mean_temp,std_temp,attempts,error"));
  EXPECT_EQ(out.str(),
            "id,status,mean_temp,std_temp,attempts,error\n"
            "\"a,b\",pending,14.25,,0,\"it said \"\"no\"\"\nand left\"\n");
}

TEST(Json, of_rows_one_after_the_other_is_one_array) {
  const auto text_of = [](const std::vector<PlanResult>& rows) {
    std::ostringstream out;
    write_json(out, rows_of(rows), columns_named("columns", "id,error"));
    return out.str();
  };
  PlanResult row;
  row.id = "a";
  row.error = "two\nlines";
  EXPECT_EQ(text_of({}), "[]\n");
  EXPECT_EQ(text_of({row, row}), nlohmann::ordered_json::parse(text_of({row, row})).dump(1) + "\n");
  EXPECT_EQ(nlohmann::json::parse(text_of({row, row}))[1]["error"], row.error);
}

TEST(Json, has_null_where_there_is_no_number) {
  PlanResult row;
  row.id = "a";
  row.iterations = 7;
  std::ostringstream out;
  write_json(out, rows_of({row}), columns_named("columns", "id,mean_temp,iterations,status"));
  EXPECT_EQ(nlohmann::json::parse(out.str()),
            nlohmann::json::parse(
                R"([{"id": "a", "mean_temp": null, "iterations": 7, "status": "pending"}])"));
}

}  // namespace
}  // namespace wallheat
