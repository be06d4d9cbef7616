#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <tuple>

#include "report/result_csv.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

// Results that other programs have printed, in the forms in which they publish them.

namespace wallheat {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ReadResultCsvTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }
  ResultCsv read(const std::string& text) { return read_result_csv({write("mine.csv", text)}); }
  std::string error_of(const std::string& text) {
    return error_message_of<RunError>([&] { (void)read(text); });
  }
  TemporaryDirectory directory_;
};

/// Returns IDs and numbers, as: 7 14.5 7 39.25 50.5; - for a missing number.
std::vector<std::string> plans_of(const ResultCsv& csv) {
  std::vector<std::string> plans;
  for (const CsvResult& result : csv.plans) {
    std::string& text = plans.emplace_back(result.id);
    for (const auto& number : result.numbers)
      text += number ? fmt::format(" {}", number->value) : " -";
  }
  return plans;
}

const std::vector<std::string> two_plans{"7 14.5 7 39.25 50.5", "12 15.625 6.5 43.5 45.25"};

TEST_F(ReadResultCsvTest, ReadsFormsThatProgramsPrint) {
  const std::string header = "building_id,mean_temp,std_temp,pct_above_18,pct_below_15\n";
  const std::string first = "7,14.5,7.0,39.25,50.5\n";
  const std::string second = "12,15.625,6.5,43.5,45.25\n";
  const std::string report =
      "\n------------------------------------------------------------\n"
      "Sender: LSF System <lsfadmin@cluster.example>\n"
      "Subject: Job 4711: <walls> in cluster <example> Done\n\n"
      "Job was executed on host(s) <4*node1>, in queue <short>, as user <someone> at Mon Mar  3\n"
      "Resource usage summary:\n\n"
      "    CPU time :                                   60.00 sec.\n"
      "    Max Memory :                                 100 MB\n";
  for (const auto& [form, text, skipped] : std::vector<std::tuple<std::string, std::string, int>>{
           {"as it is", header + first + second, 0},
           {"no header", first + second, 0},
           {"header in the middle", first + header + second, 0},
           {"header repeated", header + first + header + second, 0},
           {"a job's output",
            "Loading 2 plans, please wait\n" + header + first + "took 3.5 s\n" + second + report,
            9},
           {"a job's output without header", "Loading\n" + first + second + report, 8},
           {"short names", "id,mean,std,pct>18,pct<15\n" + first + second, 0},
           {"long names",
            "Building ID,Mean temperature (°C),Std. deviation,% above 18 °C,% below 15 °C\n" +
                first + second,
            0},
           {"camel case", "buildingId,meanTemp,stdTemp,pctAbove18,pctBelow15\n" + first + second,
            0},
           {"other words",
            "plan_id,avg_temp,temp_stddev,percentage_over_18,percent_under_15.0C\n" + first +
                second,
            0},
           {"other order and columns",
            "seconds,pct_below_15,std_temp,id,pct_above_18,mean_temp,note\n"
            "0.5,50.5,7,7,39.25,14.5,\n0.7,45.25,6.5,12,43.5,15.625,slow\n",
            0},
           {"pandas",
            ",building_id,mean_temp,std_temp,pct_above_18,pct_below_15\n0," + first + "1," + second,
            0},
           {"a printed DataFrame",
            "  building_id  mean_temp  std_temp  pct_above_18  pct_below_15\n"
            "0           7     14.500       7.0         39.25         50.50\n"
            "1          12     15.625       6.5         43.50         45.25\n\n"
            "[2 rows x 5 columns]\n",
            1},
           {"averages", header + first + second + "Average,15,6.75,41.4,47.9\nmean,1,2,3,4\n", 2},
           {"comments", "# by simulate.py\n#" + header + first + "# half\n" + second, 0},
           {"exponents",
            "7,1.4500000e+01,7.0e+00,3.925E+01,5.0500e+01\n12,+15.625,6.5,43.5,45.25\n", 0},
           {"byte-order mark, CRLF",
            "\xef\xbb\xbf"
            "building_id,mean_temp,std_temp,pct_above_18,pct_below_15\r\n"
            "7,14.5,7.0,39.25,50.5\r\n12,15.625,6.5,43.5,45.25\r\n",
            0},
           {"tabs", "7\t14.5\t7.0\t39.25\t50.5\n12\t15.625\t6.5\t43.5\t45.25\n", 0},
           {"blanks", "7 14.5  7.0 39.25 50.5\n12 15.625 6.5 43.5 45.25\n", 0},
           {"semicolons and decimal commas",
            "building_id;mean_temp;std_temp;pct_above_18;pct_below_15\n"
            "7;14,5;7,0;39,25;50,5\n12;15,625;6,5;43,5;45,25\n",
            0},
           {"decimal commas without header", "7;14,5;7;39,25;50,5\n12;15,625;6,5;43,5;45,25\n", 0},
           {"quotes", "\"7\",\"14.5\",\"7.0\",\"39.25\",\"50.5\"\n" + second, 0},
           {"per cent signs", "7, 14.5, 7.0, 39.25%, 50.5 %\n" + second, 0},
           {"commas at the ends", header + "7,14.5,7.0,39.25,50.5,\n12,15.625,6.5,43.5,45.25,\n",
            0},
           {"a progress bar", header + "  0%|   |\r 50%|## |\r" + first + second, 0},
           {"the same twice", header + first + second + first, 0}}) {
    const ResultCsv csv = read(text);
    EXPECT_EQ(plans_of(csv), two_plans) << form;
    EXPECT_EQ(csv.skipped_lines, static_cast<std::size_t>(skipped)) << form;
    EXPECT_EQ(csv.notes.size(), skipped > 0 ? 1U : 0U) << form;
  }
}

TEST_F(ReadResultCsvTest, ReportsFirstSkippedLine) {
  const ResultCsv csv =
      read("id,mean\n7,14.5\n\nsolved in 3 s\n12,15\n# a comment\nAverage,14.75\n");
  EXPECT_THAT(csv.notes, ElementsAre(Mentions({"mine.csv", "2 lines", "line 4"})));
}

TEST_F(ReadResultCsvTest, KnowsRoundingErrorOfEachNotation) {
  const ResultCsv csv = read("id,mean,std,pct_above,pct_below\n7,1.45e+01,700.0e-2,.5E2,39\n");
  ASSERT_THAT(csv.plans, SizeIs(1));
  const double errors[] = {0.05, 0.0005, 5, 0.5};
  for (std::size_t i = 0; i < std::size(errors); ++i)
    EXPECT_NEAR(csv.plans[0].numbers.at(i)->rounding_error, errors[i], errors[i] * 1e-12) << i;
}

TEST_F(ReadResultCsvTest, JoinsParts) {
  const std::string header = "building_id,mean_temp,std_temp,pct_above_18,pct_below_15\n";
  const std::string a = write("a.out", "job 1\n" + header + "7,14.5,7,39.25,50.5\n");
  const std::string b = write("b.out", "7,14.5,7,39.25,50.5\n12,15.625,6.5,43.5,45.25\n");
  const ResultCsv csv = read_result_csv({a, b});
  EXPECT_EQ(plans_of(csv), two_plans);
  EXPECT_THAT(csv.name, Mentions({a, "1 more file"}));
  EXPECT_THAT(csv.notes, ElementsAre(Mentions({"a.out", "line 1"})));
  const std::string other = write("c.out", "12,15.625,6.5,43.5,45.25\n7,14.5,7,39.25,50.25\n");
  EXPECT_THAT(
      error_message_of<RunError>([&] {
        (void)read_result_csv({a, b, other});
      }),
      Mentions({"c.out, line 2", "a.out, line 3", "plan 7", "pct_below_15", "50.5", "50.25"}));
  const std::string warmer = write("d.out", "id,mean,pct_above_20\n9,14,40\n");
  EXPECT_THAT(error_message_of<RunError>([&] {
                (void)read_result_csv({a, warmer});
              }),
              Mentions({"d.out, line 2", "18", "20"}));
}

TEST_F(ReadResultCsvTest, KeepsCommasOfId) {
  const std::string header = "building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n";
  EXPECT_THAT(plans_of(read(header + "b,c, 14, 7, 39, 50\n")), ElementsAre("b,c 14 7 39 50"));
  EXPECT_THAT(error_of(header + "7, 14, 7, 39, 50, 0.5\n"), Mentions({"line 2", "6", "5"}))
      << "the values of other columns";
  EXPECT_THAT(error_of(header + "b,7, 14, 7, 39, 50\n"), Mentions({"line 2", "6", "5"}));
}

TEST_F(ReadResultCsvTest, NamesLineOfInvalidValue) {
  const std::string header = "id,mean_temp,std_temp,pct_above_18,pct_below_15\n";
  for (const auto& [csv, facts] : std::vector<std::pair<std::string, Facts>>{
           {"place,mean_temp\n", {"building_id", "mean_temp", "std_temp"}},
           {"id,heat\n1,3\n", {"line 2", "2", "5", "building_id", "mean_temp", "std_temp"}},
           {"id,mean_temp\n1,warm\n", {"line 2", "'warm'"}},
           {"id,mean_temp,std_temp\n1,2\n", {"line 2", "3"}},
           {header + "1,14,7,39,50\n2,14.5,7\n", {"line 3", "3", "5"}},
           {"1,14,7,39,50\n2,14.5,7\n", {"line 2", "3", "5"}},
           {"1,14,7,39,50\n2,100,0.5,14,7,39,50\n", {"line 2", "7", "5", "header"}},
           {"id,mean_temp\n ,2\n", {"line 2", "ID"}},
           {"id,mean_temp\nvilla,2\n\nvilla,3\n", {"line 4", "line 2", "villa"}},
           {"id,mean_temp\n", {"no result"}},
           {"", {"no result", "building_id"}},
           {"Traceback (most recent call last):\n  File\n", {"no result", "building_id"}},
           {"id,mean,mean_temp\n1,2,3\n", {"line 1", "'mean'", "'mean_temp'"}},
           {header + "1,14,-7,39,50\n", {"line 2", "std_temp", "-7"}},
           {header + "1,14,7,139,50\n", {"line 2", "pct_above_18", "139", "100"}},
           {header + "1,14,7,60,50\n", {"line 2", "60", "50"}},
           {"id;mean;std\n1;14,5;7\n2;14.5;7\n", {"line 3", "line 2", "comma", "point"}},
           {"id\tmean\n1\t1.234,5\n", {"line 2", "'1.234,5'"}},
           // Tables of something else: no plan has such a mean, deviation and shares.
           {"1,0.5,0.2,10,20\n2,0.6,0.2,11,25\n", {"line 1", "mean_temp", "header"}},
           {"10,20,30,40,50\n20,30,40,50,60\n", {"line 2", "50 %", "60 %"}},
           {"1 200 3 40 50\n", {"line 1", "mean_temp", "header"}},
           {"100,0.5\nid,mean\n1,14\n", {"line 1", "header"}}}) {
    EXPECT_THAT(error_of(csv), AllOf(Mentions("mine.csv"), Mentions(facts))) << csv;
  }
}

TEST_F(ReadResultCsvTest, NamesFormatOfOtherFiles) {
  for (const auto& [text, facts] : std::vector<std::pair<std::string, Facts>>{
           {std::string("\x93NUMPY\x01\x00v", 9), {"NumPy array", "building_id"}},
           {"PK\x03\x04...", {"zip archive"}},
           {"\x1f\x8b...", {"gzip"}},
           {std::string("\xff\xfe"
                        "1\0,\0",
                        6),
            {"UTF-16", "iconv"}}})
    EXPECT_THAT(error_of(text), AllOf(Mentions("mine.csv"), Mentions(facts)));
}

TEST_F(ReadResultCsvTest, LeavesOutPlansThatAreNotAtHand) {
  save_floor_plan(directory_.path(), "7", room(20, 20));
  const auto source = directory_source(directory_.path());
  std::string text = "id,mean\n";
  for (int id = 1; id <= 9; ++id) text += fmt::format("{},14\n", id);
  ResultCsv csv = read(text);
  remove_unavailable_plans(csv, *source);
  EXPECT_THAT(plans_of(csv), ElementsAre("7 14 - - -"));
  EXPECT_THAT(csv.notes, ElementsAre(Mentions({"1 of the 9 plans", "mine.csv"})));
  EXPECT_THAT(csv.unavailable, SizeIs(8));
  ResultCsv strange = read("id,mean\nvilla,14\n");
  EXPECT_THAT(error_message_of<RunError>([&] { remove_unavailable_plans(strange, *source); }),
              Mentions({"1 plan", "mine.csv", "villa", "--data"}));
}

}  // namespace
}  // namespace wallheat
