#include <gmock/gmock.h>

#include <limits>
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
  struct {
    RowChoice choice;
    const char* ids;
  } const cases[] = {{{}, "abcd"},
                     {{.where = "mean_temp > 13"}, "ad"},
                     {{.sort = "mean_temp"}, "cadb"},  // what has no value comes last
                     {{.sort = "-mean_temp"}, "dacb"},
                     {{.sort = "mean_temp", .first = 2}, "ca"},
                     {{.where = "mean_temp is not null", .sort = "-mean_temp"}, "dac"},
                     {{.sort = "-id"}, "dcba"},
                     {{.sort = "host"}, "cdab"},  // in the order of the rows if they are alike
                     {{.sort = "-host"}, "abcd"},
                     {{.where = "id != 'c'", .sort = "host"}, "dab"},
                     // Numbers, texts, nothing.
                     {{.sort = "iif(id = 'b', null, iif(id = 'c', host, mean_temp))"}, "adcb"},
                     {{.sort = "-iif(id = 'b', null, iif(id = 'c', host, mean_temp))"}, "cdab"}};
  for (const auto& [choice, expected] : cases)
    EXPECT_EQ(ids(choice), expected) << choice.where << " by " << choice.sort;
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
}

}  // namespace
}  // namespace wallheat
