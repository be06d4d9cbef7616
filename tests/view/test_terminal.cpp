#include "support/matchers.hpp"
#include "view/terminal.hpp"

namespace wallheat {
namespace {

TEST(FoldedText, breaks_at_blanks_and_indents_what_goes_on) {
  EXPECT_EQ(folded("a plan that cannot be read is left out", 20, 2),
            "a plan that cannot\n  be read is left\n  out");
  EXPECT_EQ(folded("short", 20, 2), "short");
  EXPECT_EQ(folded("", 20, 2), "");
  EXPECT_EQ(folded("exactly twenty wide!", 20, 2), "exactly twenty wide!");
  EXPECT_EQ(folded("first line\nsecond line that is longer\n", 20, 4),
            "first line\nsecond line that is\n    longer\n");
}

TEST(FoldedText, cuts_a_word_that_is_longer_than_a_line) {
  EXPECT_EQ(folded("    " + std::string(30, 'x') + " y", 20, 2),
            "    " + std::string(16, 'x') + "\n  " + std::string(14, 'x') + " y");
}

TEST(FoldedText, counts_characters_and_not_bytes) {
  EXPECT_EQ(folded("zwölf Gebäude 25 °C.", 20, 2), "zwölf Gebäude 25 °C.");
  EXPECT_EQ(folded(std::string(19, 'x') + "°°", 20, 0), std::string(19, 'x') + "°\n°");
}

TEST(FoldedText, ends_whatever_the_width) {
  for (std::size_t columns = 0; columns < 30; ++columns) {
    for (std::size_t indent = 0; indent < 30; ++indent)
      EXPECT_NE(folded("                       a word " + std::string(100, 'x'), columns, indent),
                "");
  }
}

TEST(Table, has_columns_as_wide_as_what_stands_in_them) {
  EXPECT_EQ(folded("家家家家家家家家家家家", 20, 0), "家家家家家家家家家家\n家");
  EXPECT_THAT(table_lines("ll", {{"家家", "x"}, {"süden", "x"}}),
              ElementsAre("家家   x", "süden  x"));
  EXPECT_THAT(table_lines("rl", {{"rank", "host"}, {"1", "süd"}, {"12", ""}}),
              ElementsAre("rank  host", "   1  süd", "  12"));
  EXPECT_THAT(table_lines("lr", {{"süd", "1"}, {"north", "12"}}),
              ElementsAre("süd     1", "north  12"));
}

}  // namespace
}  // namespace wallheat
