#include "support/matchers.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

const std::vector<std::string> commands{"run", "export", "summary", "status", "repair", "verify"};

TEST(Misspelling, is_answered_with_the_nearest_choice) {
  EXPECT_EQ(did_you_mean("sumary", commands), "; did you mean 'summary'?");
  EXPECT_EQ(did_you_mean("sttaus", commands), "; did you mean 'status'?");
  EXPECT_EQ(did_you_mean("rn", commands), "; did you mean 'run'?");
  EXPECT_EQ(did_you_mean("STATUS", commands), "; did you mean 'status'?");
}

TEST(Abbreviation, is_answered_with_the_word) {
  EXPECT_EQ(did_you_mean("sum", commands), "; did you mean 'summary'?");
}

TEST(OtherWord, is_not_guessed_at) {
  for (const char* word : {"", "x", "s", "frobnicate", "delete"})
    EXPECT_EQ(did_you_mean(word, commands), "") << word;
  EXPECT_EQ(did_you_mean(std::string(100'000, 'x'), commands), "");
  EXPECT_EQ(did_you_mean("word", {}), "");
}

}  // namespace
}  // namespace wallheat
