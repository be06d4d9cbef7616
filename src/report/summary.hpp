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

/// What a summary is of, as far as it is known.
struct SummaryInput {
  std::string file = {};
  std::shared_ptr<const ResultReader> reader = {};
  Rows rows = {};
  Thresholds thresholds = {};       ///< by which the rows' shares of cells are counted
  bool are_all_rows = true;         ///< of the file; else its sessions took their time for more
  double cell_metres = 0;           ///< width of a cell; 0: unknown
  std::size_t max_bins = 16;        ///< of the histogram
  std::vector<Fact> left_out = {};  ///< what the averages leave out
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
