#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "report/histogram.hpp"
#include "support/matchers.hpp"

namespace wallheat {
namespace {

std::size_t counted(const Histogram& histogram) {
  return std::accumulate(
      histogram.bins.begin(), histogram.bins.end(), histogram.outliers.size(),
      [](std::size_t sum, const Histogram::Bin& bin) { return sum + bin.count; });
}

TEST(Histogram, has_bins_of_a_width_that_people_count_in) {
  const Histogram histogram = histogram_of({6.5, 12, 12.9, 14, 21.4}, 16, false);
  ASSERT_THAT(histogram.bins, SizeIs(16));
  EXPECT_EQ(histogram.bins[6].from, 12);
  EXPECT_EQ(histogram.bins[6].to, 13);
  EXPECT_EQ(histogram.bins[6].count, 2U);
  EXPECT_EQ(histogram.bins[7].count, 0U);
  EXPECT_THAT(histogram.outliers, IsEmpty());
  const Histogram few = histogram_of({6.5, 12, 12.9, 14, 21.4}, 4, false);
  EXPECT_THAT(few.bins, SizeIs(4));
  EXPECT_EQ(few.bins[0].from, 5);
  EXPECT_EQ(histogram_of({1e-13, 2e-13, 3e-13, -1e-13}).bins.front().from, -1e-13);
}

TEST(Histogram, names_what_lies_far_from_the_others) {
  EXPECT_THAT(histogram_of({15, 14, 1e7, 16, 15}).outliers, ElementsAre(2U));
  EXPECT_THAT(histogram_of({0, 0, 0, 0.5, 0, 0}).outliers, ElementsAre(3U));
  EXPECT_THAT(histogram_of({15, 14, 1e7, 16, 15}, 16, false).outliers, IsEmpty());
  EXPECT_THAT(histogram_of({15, NAN, 16, -INFINITY}).outliers, ElementsAre(1U, 3U));
  EXPECT_THAT(histogram_of({NAN}).bins, IsEmpty());
  EXPECT_THAT(histogram_of({}).bins, IsEmpty());
}

TEST(Histogram, has_at_most_sixteen_bins_and_counts_every_value_once) {
  constexpr double largest = std::numeric_limits<double>::max();
  std::vector<std::vector<double>> samples{{1e17, 1e17, 1e17},
                                           {0, 0},
                                           {0, std::numeric_limits<double>::denorm_min()},
                                           {-1e300, -1e300, 1e300, 1e300},
                                           {-largest, -largest, largest, largest}};
  std::mt19937 random(7);
  for (int exponent = -300; exponent <= 300; exponent += 4)
    for (const std::size_t count : {1U, 2U, 3U, 10U, 400U})
      for (double& value : samples.emplace_back(count))
        value = std::pow(10.0, exponent) * std::uniform_real_distribution<>(-3, 40)(random);
  for (const std::vector<double>& values : samples) {
    const Histogram histogram = histogram_of(values);
    EXPECT_LE(histogram.bins.size(), 16U) << values[0];
    EXPECT_GE(histogram.bins.size(), 1U) << values[0];
    EXPECT_EQ(counted(histogram), values.size()) << values[0];
    for (const Histogram::Bin& bin : histogram.bins) EXPECT_LT(bin.from, bin.to) << values[0];
  }
}

}  // namespace
}  // namespace wallheat
