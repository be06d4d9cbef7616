#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "core/interior_values.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {
namespace {

// What NumPy 1.24 returns for sum, mean, std and the two shares of
// a = (np.arange(n) * 7919 % 10007).astype(float) / 10007.0 * 25.0.
struct Golden {
  std::size_t n;
  double sum, mean, std, above_18, below_15;
};
constexpr Golden golden[] = {
    {1, 0.0, 0.0, 0.0, 0.0, 100.0},
    {2, 19.783651443989207, 9.891825721994604, 9.891825721994604, 50.0, 50.0},
    {7, 90.45668032377336, 12.922382903396194, 8.115796295129407, 42.857142857142854,
     57.14285714285714},
    {8, 103.94224043169781, 12.992780053962226, 7.5939167185113625, 37.5, 62.5},
    {9, 112.21145198361147, 12.467939109290164, 7.311889452271843, 33.33333333333333,
     66.66666666666666},
    {100, 1254.0746477465775, 12.540746477465776, 7.223732460274404, 28.999999999999996, 60.0},
    {127, 1588.9952033576499, 12.511773254784645, 7.259446517993299, 28.346456692913385,
     59.84251968503938},
    {128, 1601.518936744279, 12.51186669331468, 7.231033779110235, 28.125, 60.15625},
    {129, 1608.8263215748975, 12.471521872673625, 7.217400053383537, 27.906976744186046,
     60.46511627906976},
    {136, 1688.9202558209254, 12.418531292800921, 7.262789260232984, 27.941176470588236,
     60.29411764705882},
    {1000, 12508.896272609174, 12.508896272609174, 7.220137143371354, 28.1, 60.0},
    {8191, 102380.36374537824, 12.49912876881678, 7.217281179318926, 27.99413990965694,
     60.017091930167254},
    {8192, 102403.25272309383, 12.50039706092454, 7.217753448108238, 28.0029296875, 60.009765625},
    {8193, 102420.92535225341, 12.501028359850288, 7.217539128345307, 27.99951177834737,
     60.00244110826315},
    {9000, 112507.05006495453, 12.500783340550504, 7.216965692570279, 28.000000000000004,
     60.01111111111111},
    {16384, 204805.68352153493, 12.500346894624935, 7.217084841931933, 27.99072265625,
     60.003662109375},
    {20000, 249977.2834016189, 12.498864170080944, 7.217026735355947, 27.994999999999997, 60.01},
    {55302, 691245.8454082143, 12.49947281125844, 7.216875073208178, 27.99175436693067,
     60.00687136089111},
};

std::vector<double> values(std::size_t n) {
  std::vector<double> result(n);
  for (std::size_t i = 0; i < n; ++i)
    result[i] = static_cast<double>(i * 7919 % 10007) / 10007.0 * 25.0;
  return result;
}

TEST(Statistics, sum_in_the_order_of_numpy) {
  for (const Golden& expected : golden)
    EXPECT_EQ(numpy_sum(values(expected.n)), expected.sum) << expected.n;
}

TEST(Statistics, equal_those_of_numpy_to_the_last_bit) {
  for (const Golden& expected : golden) {
    // Cells outside the mask must not count, whatever they hold.
    Grid<double> field(1, 2 * expected.n, 1000.0);
    Grid<std::uint8_t> interior(1, 2 * expected.n);
    const std::vector<double> inside = values(expected.n);
    for (std::size_t i = 0; i < expected.n; ++i) {
      field.cells[2 * i] = inside[i];
      interior.cells[2 * i] = 1;
    }
    const Statistics result = statistics(field, interior);
    EXPECT_EQ(result.mean_temp, expected.mean) << expected.n;
    EXPECT_EQ(result.std_temp, expected.std) << expected.n;
    EXPECT_EQ(result.pct_above_18, expected.above_18) << expected.n;
    EXPECT_EQ(result.pct_below_15, expected.below_15) << expected.n;
  }
}

TEST(Statistics, count_strictly_above_and_below) {
  Grid<double> field(1, 4);
  field.cells = {15.0, 18.0, 14.999, 18.001};
  const Grid<std::uint8_t> interior(1, 4, 1);
  EXPECT_EQ(statistics(field, interior).pct_above_18, 25.0);
  EXPECT_EQ(statistics(field, interior).pct_below_15, 25.0);
  EXPECT_EQ(statistics(field, interior, {14, 18}).pct_above_18, 100.0);
  EXPECT_EQ(statistics(field, interior, {14, 18}).pct_below_15, 50.0);
}

TEST(Statistics, are_nan_for_a_plan_without_interior_cells) {
  const Statistics result = statistics(Grid<double>(3, 3), Grid<std::uint8_t>(3, 3));
  EXPECT_TRUE(std::isnan(result.mean_temp));
  EXPECT_TRUE(std::isnan(result.std_temp));
  EXPECT_TRUE(std::isnan(result.pct_above_18));
  EXPECT_TRUE(std::isnan(result.pct_below_15));
}

TEST(Statistics, take_the_values_of_a_mask_of_any_length_and_marks) {
  for (std::size_t n = 1; n < 40; ++n) {
    Grid<double> field(1, n);
    Grid<std::uint8_t> interior(1, n);
    std::vector<double> expected;
    for (std::size_t i = 0; i < n; ++i) {
      field.cells[i] = static_cast<double>(i + 1);
      interior.cells[i] = i < 16 ? static_cast<std::uint8_t>(i < 8 ? 1 : 0)
                                 : static_cast<std::uint8_t>(i * 7 % 5 % 3);
      if (interior.cells[i] != 0) expected.push_back(field.cells[i]);
    }
    EXPECT_EQ(interior_values(field, interior), expected) << n;
    EXPECT_EQ(count_interior(interior), std::ssize(expected)) << n;
  }
}

TEST(Doubt, is_counted_as_if_each_value_were_looked_at) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const Thresholds thresholds;
  std::vector<double> values{nan, infinity, -infinity, 0};
  for (const double threshold : {thresholds.above, thresholds.below})
    for (const double distance : {0.0, 1e-18, 1.7e-15, 3.6e-15, 1e-12, 2e-12, 1e-3, 2.0}) {
      values.push_back(threshold + distance);
      values.push_back(threshold - distance);
      values.push_back(std::nextafter(threshold + distance, infinity));
      values.push_back(std::nextafter(threshold - distance, -infinity));
    }
  values.insert(values.end(), 20'000, 17.0);  // one stretch of them alone
  values.push_back(15.0005);
  for (const double radius : {1e-20, 1.7e-15, 1e-12, 1e-3, 5.0, infinity, nan}) {
    Doubt expected;
    for (const double value : values) {
      expected.above_least += value - radius > thresholds.above ? 1 : 0;
      expected.above_most += !(value + radius <= thresholds.above) ? 1 : 0;
      expected.below_least += value + radius < thresholds.below ? 1 : 0;
      expected.below_most += !(value - radius >= thresholds.below) ? 1 : 0;
      const double nearest =
          std::min(std::abs(value - thresholds.below), std::abs(value - thresholds.above));
      expected.cells += !(nearest > radius) ? 1 : 0;
    }
    EXPECT_EQ(summary_of(values, thresholds, radius).doubt, expected) << radius;
  }
}

}  // namespace
}  // namespace wallheat
