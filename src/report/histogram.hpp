#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plans/plan_source.hpp"
#include "report/report.hpp"
#include "report/row_table.hpp"
#include "solve/solver_options.hpp"

namespace wallheat {

/// Distribution of values: a few bins of equal width for most of the values, and outliers.
struct Histogram {
  struct Bin {
    double from = 0;
    double to = 0;
    std::size_t count = 0;
  };
  std::vector<Bin> bins;  ///< ascending; empty if there are no numbers
  /// Returns the number of values in bins.
  [[nodiscard]] std::size_t count() const;
  std::vector<std::size_t> outliers;  ///< indices of values, including those of NaN and infinity
};

/// Builds a histogram of at most `max_bins` bins (at least 2), each 1, 2 or 5 times a power of ten
/// wide. Outliers are more than three interquartile ranges (and 3 % of the range of all numbers)
/// beyond the quartiles. If more than a quarter of the numbers are that far, none of them is an
/// outlier, so that at least three quarters of the numbers are in bins. If `may_have_outliers` is
/// false, only values that are not numbers are outliers.
[[nodiscard]] Histogram histogram_of(const std::vector<double>& values, std::size_t max_bins = 16,
                                     bool may_have_outliers = true);

/// Adds a table with one row per bin, in text output with a bar, and a figure of the same name. The
/// key of both is "histogram" followed by `behind`. `counted` names the objects that are counted.
/// Without bins, the figure has no bars.
Figure& add_histogram(const Histogram& histogram, const std::string& name, const std::string& axis,
                      Report& report, const std::string& counted = "plans",
                      const std::string& behind = "");

/// Returns the rows of a file, with their rooms if the file has rooms, after counting the cells
/// above and below other thresholds in the stored fields and the plans' masks. Solves nothing.
/// Uncertain cells are those within error_bound; they are not known for fastforward. Rows without
/// temperatures remain unchanged. Reads all fields, on all cores of the process. `door` is the door
/// width by which the rooms were divided; nullopt if the file has no rooms. `reader` must outlive
/// the result. Throws RunError, with a message that names the plan, if a result has no field, or if
/// its plan does not exist or has changed.
[[nodiscard]] Rows recount_cells(const ResultReader& reader, const PlanSource& plans,
                                 const Thresholds& thresholds, const std::optional<Door>& door);

}  // namespace wallheat
