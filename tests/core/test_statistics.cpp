#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "core/cell_statistics.hpp"
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
    {128, 1601.518936744279, 12.51186669331468, 7.231033779110235, 28.125, 60.15625},
    {129, 1608.8263215748975, 12.471521872673625, 7.217400053383537, 27.906976744186046,
     60.46511627906976},
    {1000, 12508.896272609174, 12.508896272609174, 7.220137143371354, 28.1, 60.0},
    {8192, 102403.25272309383, 12.50039706092454, 7.217753448108238, 28.0029296875, 60.009765625},
    {8193, 102420.92535225341, 12.501028359850288, 7.217539128345307, 27.99951177834737,
     60.00244110826315},
    {9000, 112507.05006495453, 12.500783340550504, 7.216965692570279, 28.000000000000004,
     60.01111111111111},
    {55302, 691245.8454082143, 12.49947281125844, 7.216875073208178, 27.99175436693067,
     60.00687136089111},
};

std::vector<double> values(std::size_t n) {
  std::vector<double> result(n);
  for (std::size_t i = 0; i < n; ++i)
    result[i] = static_cast<double>(i * 7919 % 10007) / 10007.0 * 25.0;
  return result;
}

TEST(Statistics, MatchesNumpyBitForBit) {
  for (const Golden& expected : golden) {
    // Cells outside the mask must not count, whatever they hold.
    Grid<double> field(1, 2 * expected.n, 1000.0);
    Grid<std::uint8_t> interior(1, 2 * expected.n);
    const std::vector<double> inside = values(expected.n);
    for (std::size_t i = 0; i < expected.n; ++i) {
      field.cells[2 * i] = inside[i];
      interior.cells[2 * i] = 1;
    }
    EXPECT_EQ(numpy_sum(inside), expected.sum) << expected.n;
    const Statistics result = statistics(field, interior);
    EXPECT_EQ(result.mean_temp, expected.mean) << expected.n;
    EXPECT_EQ(result.std_temp, expected.std) << expected.n;
    EXPECT_EQ(result.pct_above, expected.above_18) << expected.n;
    EXPECT_EQ(result.pct_below, expected.below_15) << expected.n;
  }
}

TEST(Statistics, CountsOnlyCellsStrictlyBeyondThresholds) {
  Grid<double> field(1, 4);
  field.cells = {15.0, 18.0, 14.999, 18.001};
  const Grid<std::uint8_t> interior(1, 4, 1);
  EXPECT_EQ(statistics(field, interior).pct_above, 25.0);
  EXPECT_EQ(statistics(field, interior).pct_below, 25.0);
  EXPECT_EQ(statistics(field, interior, {14, 18}).pct_above, 100.0);
  EXPECT_EQ(statistics(field, interior, {14, 18}).pct_below, 50.0);
}

TEST(Statistics, ReturnsNanForPlanWithoutInteriorCells) {
  const Statistics result = statistics(Grid<double>(3, 3), Grid<std::uint8_t>(3, 3));
  EXPECT_TRUE(std::isnan(result.mean_temp));
  EXPECT_TRUE(std::isnan(result.std_temp));
  EXPECT_TRUE(std::isnan(result.pct_above));
  EXPECT_TRUE(std::isnan(result.pct_below));
}

TEST(Median, AveragesTwoMiddleValues) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1}), 3);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({8, 1, 2, 4}), 3);
  EXPECT_EQ(median({7, 7, 7, 1, 9, 9}), 7);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(median({1, std::nan(""), 3}))) << "as numpy.median";
}

TEST(InteriorValues, SelectsInteriorCellsForAnyMask) {
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

TEST(UncertainCounts, BoundsCountsOfCellsNearThresholds) {
  const std::vector<double> values{10, 14, 14.5, 15, 15.25, 15.5, 17, 17.5, 17.75, 18, 18.5, 20};
  const UncertainCounts uncertain = summarize_cells(values, {}, 0.5).uncertain;
  EXPECT_EQ(uncertain.min_above, 1) << "20";
  EXPECT_EQ(uncertain.max_above, 4) << "also 17.75, 18 and 18.5";
  EXPECT_EQ(uncertain.min_below, 2) << "10 and 14";
  EXPECT_EQ(uncertain.max_below, 5) << "also 14.5, 15 and 15.25";
  EXPECT_EQ(uncertain.cells, 8) << "14.5 to 15.5, and 17.5 to 18.5";
  const std::vector<double> unknown{std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(summarize_cells(unknown, {}, 0.5).uncertain, (UncertainCounts{0, 1, 0, 1, 1}));
}

}  // namespace
}  // namespace wallheat
