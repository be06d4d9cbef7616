#pragma once

#include <vector>

#include "report/summary.hpp"
#include "report/time_ledger.hpp"

namespace wallheat {

/// The answers, a line each.
void add_summary_facts(const Summary& summary, const std::optional<WallTime>& wall,
                       double cell_metres, Report& report);

/// What only the page of a summary has. `of` has a reader, and lives as long.
class SummaryPage {
 public:
  SummaryPage(const SummarySource& of, const Thresholds& thresholds);
  [[nodiscard]] bool has_ledgers() const { return !ledgers_.empty(); }

  /// By which command, where and when; and what is damaged.
  void add_origin(Report& page) const;
  /// The means and deviations of all, the coldest and the warmest.
  void add_plans(Report& page) const;
  /// Where the time of threads went, and how well that of plans was predicted.
  void add_times(Report& page) const;
  /// All plans, as `wallheat list` tells them.
  void add_rows(Report& page) const;

 private:
  const SummarySource& of_;
  Thresholds thresholds_;
  std::vector<Lane> lanes_;
  std::vector<TimeLedger> ledgers_;
};

}  // namespace wallheat
