#include <gtest/gtest.h>

#include "core/duration.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

TEST(ParseDuration, AcceptsSecondsUnitsOrClockNotation) {
  for (const char* text : {"5400", "90m", "1h30m", "1:30:00", "90:00"})  // as Slurm reads the last
    EXPECT_EQ(parse_duration(text).count(), 5400) << text;
  EXPECT_EQ(parse_duration("0:20").count(), 20);
  for (const char* text : {"1-12:30:00", "1-12:30", "1d12h30m", "36:30:00"})
    EXPECT_EQ(parse_duration(text).count(), (36 * 60 + 30) * 60) << text;
  EXPECT_EQ(parse_duration("2-0").count(), 2 * 86400);
  for (const char* text : {"1:99:99", "1:60:00", "1:00:60", "5:99", "", "1:", "soon", "1-", "1-24",
                           "1-1:60", "1-1:1:60", "1-1h", "-1", "1-1:"})
    EXPECT_THROW((void)parse_duration(text), UsageError) << text;
}

}  // namespace
}  // namespace wallheat
