#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace wallheat {

/// How values are spread: a few bins of equal width over the bulk of them, and those that lie far
/// from it.
struct Histogram {
  struct Bin {
    double from = 0;
    double to = 0;
    std::size_t plans = 0;
  };
  std::vector<Bin> bins;              ///< at most 20, ascending; empty where there is no bulk
  std::vector<std::size_t> outliers;  ///< places among the values; those that are no number as well
};

/// A bin is 1, 2 or 5 times a power of ten wide, and at least one unit, which is a power of ten.
/// Outliers are more than three interquartile ranges (and three units) beyond the quartiles, so
/// three quarters of the numbers at least are in bins, whatever they are.
[[nodiscard]] Histogram histogram_of(const std::vector<double>& values, double unit = 1);

/// A row a bin, with so many digits of its borders and a bar for people. `counted` is what its
/// values are of.
[[nodiscard]] Table table_of(const Histogram& histogram, const std::string& key,
                             const std::string& name, int digits,
                             const std::string& counted = "plans");

}  // namespace wallheat
