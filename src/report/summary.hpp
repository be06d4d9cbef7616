#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan_ids.hpp"
#include "report/histogram.hpp"
#include "report/report.hpp"
#include "report/row_table.hpp"
#include "report/time_ledger.hpp"
#include "view/gpu_text.hpp"
#include "view/run_progress.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// What the sessions that ended by themselves took; a killed one leaves no figures.
struct WallTime {
  std::size_t sessions = 0;
  std::size_t all_sessions = 0;
  double seconds = 0;  ///< in which any session ran: those of merged parts ran at the same time
  double plans = 0;    ///< solved in that time
  std::int64_t rank_memory = 0;  ///< bytes that a rank of theirs held at most; 0: unknown
  int rank = 0;                  ///< the one that did
  GpuSessionTimes on_gpus;       ///< all 0 if no plan was solved on one
  std::string kernels;           ///< a table of the GPUs' kernels for each session that used one
};
[[nodiscard]] WallTime wall_time(const std::vector<Attributes>& sessions);

struct FailedPlan {
  std::string id;
  std::int32_t attempts = 0;
  std::string error;
};

struct RoomSummary {
  std::size_t rooms = 0;
  std::size_t above = 0;  ///< rooms whose mean is above the threshold
  std::size_t below = 0;
  /// The few with the lowest means, ascending, with their plans, of those of at least a thousandth
  /// of their plan's interior: the mask of a plan may have single cells apart.
  std::vector<std::pair<RoomResult, std::string>> coldest;
};

/// The answers that a data set is solved for. Plans with a temperature count, but for `by_status`.
/// Temperatures in °C; NaN if no plan counts.
struct Summary {
  std::size_t plans = 0;
  std::map<PlanStatus, std::size_t> by_status;
  std::vector<double> means;        ///< of each plan with a temperature
  TextList ids;                     ///< of these
  std::vector<PlanResult> slowest;  ///< the few of these that took longest, descending
  std::vector<FailedPlan> failed;
  double mean_of_means = 0;
  double median_of_means = 0;
  double std_of_means = 0;  ///< of the population
  double mean_of_stds = 0;
  Thresholds thresholds;
  std::size_t half_above = 0;  ///< plans with at least half of their cells above thresholds.above
  std::size_t half_below = 0;
  std::string solver;  ///< name and version of what solved them; the first if they differ
  double largest_error_bound = 0;     ///< °C; NaN unless all have a bound
  std::size_t fell_back = 0;          ///< plans of fastforward that got the exact iteration
  std::uint64_t cells_in_doubt = 0;   ///< near a threshold
  double largest_error_estimate = 0;  ///< °C; of the plans that have one
  std::size_t far_from_steady = 0;    ///< plans
  ThreadTime spent;                   ///< on all rows
  std::int64_t peak_memory = 0;       ///< bytes, the largest of all rows; 0: unknown
  std::string peak_memory_id;         ///< the plan that took it
  std::optional<RoomSummary> rooms;   ///< if they were asked for
  std::int64_t interior_cells = 0;
  std::int64_t cells_above = 0;  ///< interior cells above the threshold
  std::int64_t cells_below = 0;
  /// Where the time of plans went whose phases are known, by name, in s; in order. `other` is what
  /// no phase covers.
  std::vector<std::pair<std::string, double>> phases;
};
/// `thresholds` are those by which the rows' shares of cells are counted; with the rooms of the
/// file that they are from, if it is given and has any.
[[nodiscard]] Summary summary_of(const Rows& rows, const Thresholds& thresholds = {},
                                 const ResultReader* reader = nullptr);

/// What a summary is of, as far as it is known.
struct SummarySource {
  std::string file = {};
  std::shared_ptr<const ResultReader> reader = {};
  Rows rows = {};
  bool are_all_rows = true;         ///< of the file; else its sessions took their time for more
  double cell_metres = 0;           ///< width of a cell; 0: unknown
  std::size_t most_bins = 16;       ///< of the histogram
  std::vector<Fact> left_out = {};  ///< what the averages leave out
};
/// Its page has more: the coldest and warmest plans, where the time went, and all plans.
[[nodiscard]] Report report_of(const Summary& summary, const SummarySource& of = {});

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
