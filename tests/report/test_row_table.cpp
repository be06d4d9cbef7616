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
  EXPECT_EQ(ids({.sort = "-replace('a very long name ?', '?', id)"}), "dcba");
  EXPECT_EQ(ids({.sort = "iif(id = 'b', null, iif(id = 'c', host, mean_temp))"}), "adcb")
      << "numbers, texts, nothing";
  EXPECT_EQ(ids({.sort = "-iif(id = 'b', null, iif(id = 'c', host, mean_temp))"}), "cdab");
}

TEST(ChosenRows, stay_in_order_if_they_are_alike) {
  std::vector<PlanResult> all(100);
  std::vector<std::size_t> even;
  std::vector<std::size_t> odd;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].host = i % 2 == 0 ? "even" : "odd";
    (i % 2 == 0 ? even : odd).push_back(i);
  }
  even.insert(even.end(), odd.begin(), odd.end());
  EXPECT_EQ(chosen_rows(rows_of(all), {.sort = "host"}), even);
}

TEST(Columns, are_found_by_name) {
  const auto named = [](const std::string& names) {
    return columns_named("columns", names, all_columns());
  };
  const auto some = named("mean_temp,id");
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[0].head.key, "mean_temp");
  EXPECT_TRUE(some[1].is_text);
  EXPECT_EQ(named("all").front().head.key, "id");
  EXPECT_GT(named("all").size(), 10U);
  for (const char* names : {"", "id,", "id,,mean_temp", "means", "all,id"})
    EXPECT_THROW((void)named(names), UsageError) << names;
}

TEST(Table, of_rows_has_their_values_and_null_if_there_is_none) {
  PlanResult row;
  row.id = "a,b";
  row.error = "it said \"no\"\nand left";
  row.statistics.mean_temp = 14.25;
  row.input_hash = 0xfeed;
  const std::vector<PlanResult> rows{row};
  const Table table =
      table_of("plans", rows_of(rows),
               columns_named("columns", "id,status,mean_temp,std_temp,attempts,input_hash,error",
                             all_columns()));
  std::ostringstream csv;
  write_csv(table, csv);
  EXPECT_EQ(csv.str(),
            "id,status,mean_temp,std_temp,attempts,input_hash,error\n"
            "\"a,b\",pending,14.25,,0,000000000000feed,\"it said \"\"no\"\"\nand left\"\n");
  Report report;
  report.add(table);
  std::ostringstream json;
  write_json(report, json);
  EXPECT_EQ(nlohmann::json::parse(json.str())["plans"],
            nlohmann::json::parse(R"([{"id": "a,b", "status": "pending",
                "mean_temp": 14.25, "std_temp": null, "attempts": 0,
                "input_hash": "000000000000feed", "error": "it said \"no\"\nand left"}])"));
}

}  // namespace
}  // namespace wallheat
