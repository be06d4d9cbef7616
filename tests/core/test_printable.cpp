#include <gtest/gtest.h>

#include "core/text.hpp"

namespace wallheat {
namespace {

TEST(PrintableText, shows_control_characters_instead_of_sending_them_to_the_terminal) {
  EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(printable("\x1b[31mred\r"), "\\x1b[31mred\\x0d");
  EXPECT_EQ(printable(std::string_view("nul\0in it\x7f", 10)), "nul\\x00in it\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J")
      << "the control sequence introducer in one character";
  EXPECT_EQ(printable("\u202egnp.exe"), "\\xe2\\x80\\xaegnp.exe") << "text from right to left";
}

TEST(PrintableText, shows_bytes_that_are_no_text) {
  EXPECT_EQ(printable("\x9b"
                      "2J\xff"),
            "\\x9b2J\\xff");
  EXPECT_EQ(printable("Geb\xc3"), "Geb\\xc3");
  EXPECT_EQ(printable("\xc3("), "\\xc3(");
  EXPECT_EQ(printable("\xe0\x80\x8a"), "\\xe0\\x80\\x8a") << "a line feed in too many bytes";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a UTF-16 pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(PrintableText, of_a_message_is_no_longer_than_a_screen_or_two) {
  EXPECT_EQ(printable_message("no such\nfile"), "no such\\nfile");
  EXPECT_LT(printable_message(std::string(60'000, '9')).size(), 5000U);
}

TEST(PrintableText, leaves_everything_else_as_it_is) {
  for (const char* text : {"", "house 7", "Gebäude-3", "25 °C", "家 🏠", "C:\\plans"})
    EXPECT_EQ(printable(text), text);
}

}  // namespace
}  // namespace wallheat
