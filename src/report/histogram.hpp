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

/// How values are spread: a few bins of equal width over the bulk of them, and those that lie far
/// from it.
struct Histogram {
  struct Bin {
    double from = 0;
    double to = 0;
    std::size_t count = 0;
  };
  std::vector<Bin> bins;  ///< ascending; empty if there is no number
  /// Returns the number of values in bins.
  [[nodiscard]] std::size_t count() const;
  std::vector<std::size_t> outliers;  ///< indices of values, those of what is no number included
};

/// Makes at most `max_bins` (at least two), each 1, 2 or 5 times a power of ten wide. Outliers
/// are more than three interquartile ranges (and 3 % of the span of all numbers) beyond the
/// quartiles. If more than a quarter of the numbers are that far, none of them is an outlier, so at
/// least three quarters of the numbers are in bins. Without `may_have_outliers`, only values that
/// are not numbers are outliers.
[[nodiscard]] Histogram histogram_of(const std::vector<double>& values, std::size_t max_bins = 16,
                                     bool may_have_outliers = true);

/// Adds a table, a row a bin with a bar for people, and a figure of the same name, both under the
/// key "histogram" and what is behind it. `counted` is what the values are of. There is no bar in
/// the figure if there is no bin.
Figure& add_histogram(const Histogram& histogram, const std::string& name, const std::string& axis,
                      Report& report, const std::string& counted = "plans",
                      const std::string& behind = "");

/// Returns the rows of a file, with their rooms if the file has rooms, after counting the cells
/// above and below other thresholds in the stored fields and the plans' masks. Solves nothing.
/// Uncertain cells are those within error_bound; they are not known for fastforward. Rows without
/// temperatures stay as they are. Reads all fields, on all cores of the process. `door` is the door
/// that the rooms were divided by; nullopt if the file has no rooms. `reader` must live as long.
/// Throws RunError that names the plan if a result has no field, or if its plan does not exist or
/// has changed.
[[nodiscard]] Rows recount_cells(const ResultReader& reader, const PlanSource& plans,
                                 const Thresholds& thresholds, const std::optional<Door>& door);

}  // namespace wallheat
