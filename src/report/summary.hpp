#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "report/row_table.hpp"
#include "report/time_breakdown.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Content and options of a summary, as far as they are known.
struct SummaryInput {
  std::string file = {};
  std::shared_ptr<const ResultReader> reader = {};
  Rows rows = {};              ///< those that `where` selects; without their rooms: as in the file
  Thresholds thresholds = {};  ///< by which the cells of rows and rooms are counted
  std::string where = {};      ///< formula that selects the rows; empty: all rows of the file
  double cell_metres = 0;      ///< width of a cell; 0: unknown
  std::size_t max_bins = 16;   ///< of the histogram
  std::size_t min_cells = 1;   ///< rooms of fewer cells do not count
  /// Description of the plans without a result, which the averages leave out; empty if there are
  /// none, and if nothing is known about them.
  std::string missing_text = {};
  std::vector<Fact> missing = {};  ///< the same in JSON
};
/// The answers that a data set is solved for. They are of the plans with a temperature; their
/// numbers are of all plans. Its page has more: the coldest and warmest plans, where the time went,
/// and all plans.
[[nodiscard]] Report summary_report(const SummaryInput& of);

/// The settings and the sessions of a file.
void add_provenance(const ResultReader& reader, Report& report);

// What only its page has. The source has a reader.

/// By which command, where and when; and what is damaged.
void add_run_info(const SummaryInput& of, const std::vector<SlotTimeline>& slots, Report& page);
/// The means and deviations of all, the coldest and the warmest.
void add_distribution(const SummaryInput& of, Report& page);
/// How well the time of plans was predicted.
void add_predictions(const SummaryInput& of, Report& page);
/// All plans, as `wallheat list` tells them.
void add_plan_table(const SummaryInput& of, Report& page);

}  // namespace wallheat
