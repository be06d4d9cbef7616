#include <cmath>
#include <limits>
#include <numeric>

#include "core/cell_statistics.hpp"
#include "core/gpu_stats.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "core/wall_overrides.hpp"
#include "support/farthest_apart.hpp"
#include "support/matchers.hpp"

// Single values: comparison, aggregation, formatting and parsing.
namespace wallheat {
namespace {

TEST(PlanResult, IsFarFromSteadyWhenErrorExceedsTenth) {
  PlanResult plate;
  plate.status = PlanStatus::converged;
  plate.statistics.mean_temp = 0.0001;
  plate.statistics.std_temp = 0.002;
  plate.error_estimate = 0.02;
  EXPECT_TRUE(is_far_from_steady(plate));
  plate.error_estimate = 0.0001;
  EXPECT_FALSE(is_far_from_steady(plate));
  EXPECT_FALSE(has_unknown_error(plate));
  plate.error_estimate = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(is_far_from_steady(plate)) << "the deltas do not decay";
  plate.error_bound = 1e-9;
  EXPECT_FALSE(is_far_from_steady(plate)) << "the bound of steady is proven";
  EXPECT_FALSE(is_far_from_steady(PlanResult{}));
}

TEST(PlanResult, IsNotFarFromSteadyWhenErrorIsUnknown) {
  PlanResult plate;
  plate.status = PlanStatus::max_iterations;
  plate.statistics.mean_temp = 9;
  EXPECT_TRUE(std::isnan(plate.error_estimate)) << "too few iterations for an estimate";
  EXPECT_FALSE(is_far_from_steady(plate));
  EXPECT_TRUE(has_unknown_error(plate));
  plate.error_bound = 1e-9;
  EXPECT_FALSE(has_unknown_error(plate));
  plate.status = PlanStatus::empty;
  plate.error_bound = std::nan("");
  EXPECT_FALSE(has_unknown_error(plate)) << "there is no temperature";
}

TEST(PlanResult, PrefersCpuTimeForSingleCoreSeconds) {
  PlanResult row;
  row.device = "cpu avx2";
  row.seconds = 20;
  EXPECT_EQ(single_core_seconds(row), 20) << "the CPU time is unknown";
  row.cpu_s = 1;
  EXPECT_EQ(single_core_seconds(row), 1);
  row.device = "gpu 0";
  EXPECT_EQ(single_core_seconds(row), 20)
      << "the CPU time is that of a thread that waits for the GPU";
}

TEST(GpuUsage, SkipsMissingReadings) {
  GpuUsage usage;
  usage.add({.utilisation_pct = 80, .power_w = 300, .energy_j = 0});
  usage.add({.utilisation_pct = 100, .power_w = 500, .energy_j = 400});
  usage.add({.temperature_c = -5, .energy_j = 900});
  EXPECT_EQ(usage.samples, 3U);
  EXPECT_EQ(usage.utilisation_pct.mean(), 90) << "a missing reading does not count";
  EXPECT_EQ(usage.utilisation_pct.max(), 100);
  EXPECT_EQ(usage.power_w.mean(), 400);
  EXPECT_EQ(usage.energy_j, 900);
  EXPECT_EQ(usage.temperature_c.max(), -5);
  EXPECT_TRUE(std::isnan(usage.sm_clock_mhz.mean()));
  EXPECT_TRUE(std::isnan(usage.sm_clock_mhz.max()));
}

TEST(GpuPlanTimes, AttributesRemainingTimeToHost) {
  GpuPlanTimes times{.upload_s = 1, .kernel_s = 5, .download_s = 1, .wait_s = 8};
  EXPECT_EQ(times.host_s(10), 2) << "the wait includes the driver";
  times.wait_s = 3;
  EXPECT_EQ(times.host_s(10), 3) << "launches overlap with the work of the device";
  EXPECT_EQ(times.host_s(6), 0) << "clocks differ";
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(NanMinMax, PropagatesNan) {
  EXPECT_EQ(nan_max(-2.5, 3), 3);
  EXPECT_EQ(nan_min(infinite, -2.5), -2.5);
  for (std::size_t index = 0; index < 4; ++index) {
    std::vector<double> values{3, -infinite, 7, infinite};
    values[index] = not_a_number;
    EXPECT_TRUE(std::isnan(std::accumulate(values.begin(), values.end(), 5.0, nan_max))) << index;
    EXPECT_TRUE(std::isnan(std::accumulate(values.begin(), values.end(), 5.0, nan_min))) << index;
  }
}

// A helper of the tests: a field of NaN is not close to any field.

TEST(FarthestApart, ReturnsInfinityForNanOrMissingValues) {
  EXPECT_EQ(farthest_apart(std::vector{1.0, 2.0, 3.0}, std::vector{1.5, -2.0, 3.0}), 4);
  EXPECT_EQ(farthest_apart(std::vector{1.0, 2.0}, std::vector{1.0, 2.0}), 0);
  for (std::size_t index = 0; index < 3; ++index) {
    std::vector<double> values{1, 2, 3};
    values[index] = not_a_number;
    EXPECT_EQ(farthest_apart(values, std::vector{1.0, 2.0, 3.0}), infinite) << index;
    EXPECT_EQ(farthest_apart(values, values), infinite) << index;
  }
  EXPECT_EQ(farthest_apart(std::vector{1.0}, std::vector{1.0, 2.0}), infinite);
}

TEST(EscapeControlChars, EscapesInvalidUtf8OrTerminalControls) {
  const std::pair<std::string, const char*> shown[] = {
      {"a\nb\tc", "a\\nb\\tc"},
      {"\x1b[31mred\r", "\\x1b[31mred\\x0d"},
      {std::string("nul\0in it\x7f", 10), "nul\\x00in it\\x7f"},
      {"\xc2\x9b"
       "2J",
       "\\xc2\\x9b2J"},  // the control sequence introducer in one character
      {"\u202egnp.exe", "\\xe2\\x80\\xaegnp.exe"},  // text from right to left
      {"\x9b"
       "2J\xff",
       "\\x9b2J\\xff"},
      {"Geb\xc3", "Geb\\xc3"},
      {"\xc3(", "\\xc3("},
      {"\xe0\x80\x8a", "\\xe0\\x80\\x8a"},           // a line feed in too many bytes
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // half of a UTF-16 pair
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond Unicode
  };
  for (const auto& [text, expected] : shown) EXPECT_EQ(escape_control_chars(text), expected);
}

TEST(EscapeControlChars, LimitsLengthOfMessages) {
  EXPECT_EQ(escape_and_truncate("no such\nfile"), "no such\\nfile");
  EXPECT_LT(escape_and_truncate(std::string(60'000, '9')).size(), 5000U);
}

TEST(EscapeControlChars, KeepsPrintableText) {
  for (const char* text : {"", "house 7", "Gebäude-3", "25 °C", "家 🏠", "C:\\plans"})
    EXPECT_EQ(escape_control_chars(text), text);
}

TEST(SplitShellWords, SplitsAndUnquotesAsShellDoes) {
  using Words = std::vector<std::string>;
  const std::vector<std::pair<std::string, Words>> lines{
      {"python3 mine.py", {"python3", "mine.py"}},
      {" \ta  b\t", {"a", "b"}},
      {"'my solver' \"a b\"c '' ", {"my solver", "a bc", ""}},
      {R"(a\ b "\"\\\n" '\')", {"a b", R"("\\n)", "\\"}},
      {"$HOME *; >x", {"$HOME", "*;", ">x"}},
      {"", {}}};
  for (const auto& [line, words] : lines) EXPECT_EQ(split_shell_words(line), words) << line;
  EXPECT_EQ(split_shell_words("'a"), std::nullopt);
  EXPECT_EQ(split_shell_words("a \"b"), std::nullopt);
}

TEST(FormatRepr, PrintsFloatsAsPythonDoes) {
  const std::pair<double, const char*> printed[] = {
      // from repr() of CPython 3.11
      {-0.0, "-0.0"},
      {100.0, "100.0"},
      {0.0001, "0.0001"},
      {1e-05, "1e-05"},
      {1.5e-07, "1.5e-07"},
      {1000000000000000.0, "1000000000000000.0"},
      {1e+16, "1e+16"},
      {1.2345e+16, "1.2345e+16"},
      {1e+100, "1e+100"},
      {5e-324, "5e-324"},
      {1.7976931348623157e+308, "1.7976931348623157e+308"},
      {-2.5, "-2.5"},
      {12.012338788112752, "12.012338788112752"},
      {9.996023381297903e-05, "9.996023381297903e-05"},
      {std::numeric_limits<double>::quiet_NaN(), "nan"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"},
  };
  for (const auto& [value, text] : printed) EXPECT_EQ(format_repr(value), text);
}

TEST(WallOverrides, ReplacesNominalTemperaturesSimultaneously) {
  FloorPlan plan{Grid<double>(2, 3), Grid<std::uint8_t>(2, 3)};
  plan.domain.cells = {5, 25, 0, 5, 25, 8};
  plan.interior.cells = {0, 0, 0, 1, 1, 0};
  EXPECT_THAT(nominal_wall_temperatures(plan), ElementsAre(0, 5, 8, 25));
  apply_wall_overrides(plan, {{5, 8}, {8, 9}, {25, 5}});
  EXPECT_THAT(plan.domain.cells, ElementsAre(8, 5, 0, 5, 25, 9));
}

TEST(WallOverrides, SurvivesRoundTripThroughText) {
  const auto walls = parse_wall_overrides("25=22.5 5=-8");
  ASSERT_TRUE(walls);
  EXPECT_EQ(to_text(*walls), "5.0=-8.0 25.0=22.5");
  EXPECT_EQ(parse_wall_overrides(to_text(*walls)), walls);
  for (const char* wrong :
       {"5", "5=", "=5", "5=nan", "5=1e301", "5=8=9", "x=5", "5=8 5=9", "5=8,25=22"})
    EXPECT_FALSE(parse_wall_overrides(wrong)) << wrong;
}

}  // namespace
}  // namespace wallheat
