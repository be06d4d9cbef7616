#include <limits>
#include <numeric>
#include <random>

#include "report/histogram.hpp"
#include "support/matchers.hpp"

namespace wallheat {
namespace {

std::size_t counted(const Histogram& histogram) {
  return std::accumulate(
      histogram.bins.begin(), histogram.bins.end(), std::size_t{0},
      [](std::size_t sum, const Histogram::Bin& bin) { return sum + bin.plans; });
}

TEST(HistogramOfTemperatures, has_a_bin_a_degree) {
  const Histogram histogram = histogram_of({11.5, 12, 12.9, 14});
  ASSERT_THAT(histogram.bins, SizeIs(4));
  EXPECT_EQ(histogram.bins[1].from, 12);
  EXPECT_EQ(histogram.bins[1].to, 13);
  EXPECT_EQ(histogram.bins[1].plans, 2U);
  EXPECT_EQ(histogram.bins[2].plans, 0U);
  EXPECT_THAT(histogram.outliers, IsEmpty());
}

TEST(HistogramOfTemperatures, names_what_lies_far_from_the_others) {
  EXPECT_THAT(histogram_of({15, 14, 1e7, 16, 15}).outliers, ElementsAre(2U));
  EXPECT_THAT(histogram_of({15, 14, -1e17, 16, 15}).bins, SizeIs(3));
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(histogram_of({15, nan, 16, -infinity}).outliers, ElementsAre(1U, 3U));
  EXPECT_THAT(histogram_of({nan}).bins, IsEmpty());
  EXPECT_THAT(histogram_of({}).bins, IsEmpty());
}

TEST(HistogramOfAnything, has_at_most_twenty_bins_and_counts_every_value_once) {
  std::mt19937 random(7);
  for (int exponent = -300; exponent <= 300; exponent += 4) {
    const double scale = std::pow(10.0, exponent);
    for (const std::size_t count : {1U, 2U, 3U, 10U, 400U}) {
      std::vector<double> values(count);
      for (double& value : values)
        value = scale * (std::uniform_real_distribution<>(-3, 40)(random));
      const Histogram histogram = histogram_of(values);
      EXPECT_LE(histogram.bins.size(), 20U) << scale;
      EXPECT_GE(histogram.bins.size(), 1U) << scale;
      EXPECT_EQ(counted(histogram) + histogram.outliers.size(), count) << scale;
      for (const Histogram::Bin& bin : histogram.bins) EXPECT_LT(bin.from, bin.to) << scale;
    }
  }
}

TEST(HistogramOfAnything, copes_with_values_that_all_are_equal_or_as_far_apart_as_can_be) {
  EXPECT_THAT(histogram_of({1e17, 1e17, 1e17}).bins, SizeIs(1));
  EXPECT_EQ(counted(histogram_of({-1e300, -1e300, 1e300, 1e300})), 4U);
  const double largest = std::numeric_limits<double>::max();
  const Histogram wild = histogram_of({-largest, -largest, largest, largest});
  EXPECT_EQ(counted(wild) + wild.outliers.size(), 4U);
}

}  // namespace
}  // namespace wallheat
