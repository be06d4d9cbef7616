#include <cmath>
#include <limits>

#include "support/matchers.hpp"
#include "view/spelling.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

TEST(WrapText, BreaksAtBlanksWithIndent) {
  EXPECT_EQ(wrap_text("a plan that cannot be read is left out", 20, 2),
            "a plan that cannot\n  be read is left\n  out");
  EXPECT_EQ(wrap_text("exactly twenty wide!", 20, 2), "exactly twenty wide!");
  EXPECT_EQ(wrap_text("first line\nsecond line that is longer\n", 20, 4),
            "first line\nsecond line that is\n    longer\n");
  EXPECT_EQ(wrap_text("    " + std::string(30, 'x') + " y", 20, 2),
            "    " + std::string(16, 'x') + "\n  " + std::string(14, 'x') + " y");
}

TEST(WrapText, CountsColumnsInsteadOfBytes) {
  EXPECT_EQ(wrap_text("zwölf Gebäude 25 °C.", 20, 2), "zwölf Gebäude 25 °C.");
  EXPECT_EQ(wrap_text(std::string(19, 'x') + "°°", 20, 0), std::string(19, 'x') + "°\n°");
  EXPECT_EQ(wrap_text("家家家家家家家家家家家", 20, 0), "家家家家家家家家家家\n家");
}

TEST(WrapText, TerminatesAtAnyWidth) {
  const std::string text = "                       a word " + std::string(100, 'x');
  for (std::size_t columns = 0; columns < 30; ++columns)
    for (std::size_t indent = 0; indent < 30; ++indent)
      EXPECT_NE(wrap_text(text, columns, indent), "");
}

TEST(TableLines, FitsColumnsToWidestCell) {
  EXPECT_THAT(table_lines("ll", {{"家家", "x"}, {"süden", "x"}}),
              ElementsAre("家家   x", "süden  x"));
  EXPECT_THAT(table_lines("rl", {{"rank", "host"}, {"1", "süd"}, {"12", ""}}),
              ElementsAre("rank  host", "   1  süd", "  12"));
}

TEST(DidYouMean, SuggestsNearestWord) {
  const std::vector<std::string> commands{"run", "export", "summary", "status", "repair", "verify"};
  for (const auto& [typed, meant] : {std::pair("sumary", "summary"),
                                     {"rnu", "run"},
                                     {"rn", "run"},
                                     {"STATUS", "status"},
                                     {"sum", "summary"}})
    EXPECT_THAT(did_you_mean(typed, commands), Mentions("'" + std::string(meant) + "'")) << typed;
  for (const char* typed : {"", "x", "s", "frobnicate"})
    EXPECT_EQ(did_you_mean(typed, commands), "") << typed;
  EXPECT_EQ(did_you_mean(std::string(100'000, 'x'), commands), "");
  EXPECT_EQ(did_you_mean("word", {}), "");
}

TEST(RateText, ChoosesReadableUnit) {
  EXPECT_EQ(rate_text(12.34), "12.3 plans/s");
  EXPECT_EQ(rate_text(1.5), "1.50 plans/s");
  EXPECT_EQ(rate_text(0.5), "30.0 plans/min");
  EXPECT_EQ(rate_text(0.5, RateUnit::plans_per_s), "0.500 plans/s");
  EXPECT_THAT(rate_text(0.01), AllOf(Mentions("1 min 40 s"), Not(HasSubstr("plans/"))));
  EXPECT_THAT(rate_text(0), Not(testing::ContainsRegex("[0-9]")));
}

TEST(DurationText, IsUnknownForInfinity) {
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(BytesText, HasNoExponentAtAnySize) {
  for (const auto& [bytes, text] : {std::pair(999.0, "999 B"),
                                    {999.7, "1 kB"},
                                    {23.4e6, "23.4 MB"},
                                    {999.7e9, "0.9997 TB"},
                                    {1048.3e9, "1.048 TB"},
                                    {12'345.6e12, "12346 TB"}})
    EXPECT_EQ(bytes_text(bytes), text);
}

TEST(SecondsText, HasFiveDigitsWithoutExponent) {
  for (const auto& [seconds, text] : {std::pair(212.0, "212.00"),
                                      {36110.9, "36111"},
                                      {1.5e7, "15000000"},
                                      {0.01234567, "0.012346"},
                                      {0.0, "0.0000"},
                                      {std::nan(""), "-"}})
    EXPECT_EQ(seconds_text(seconds), text);
}

}  // namespace
}  // namespace wallheat
