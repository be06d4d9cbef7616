#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/gpu_stats.hpp"
#include "report/report.hpp"
#include "report/row_table.hpp"

namespace wallheat {

/// Wall times of the sessions that were not killed; a killed session leaves no figures.
struct WallTime {
  std::size_t sessions = 0;
  std::size_t all_sessions = 0;
  /// Time in which at least one session ran, in s; sessions of merged shard files may overlap.
  double seconds = 0;
  double plans = 0;              ///< plans solved in that time
  std::int64_t rank_memory = 0;  ///< maximum memory of a rank in bytes; 0: unknown
  int rank = 0;                  ///< rank with this maximum
  GpuTimeTotals on_gpus;         ///< all 0 if no plan was solved on a GPU
  std::string kernels;           ///< tables of kernels, one for each session that used a GPU
};
[[nodiscard]] WallTime wall_time(const std::vector<Attributes>& sessions);
/// Adds the times of plans on GPUs by category, and the time of each kernel.
void add_gpu_times(const WallTime& wall, Report& report);

using NamedSeconds = std::vector<std::pair<std::string, double>>;
/// Returns a table of times with their shares of the sum; without rows if the sum is 0.
[[nodiscard]] Table table_of_seconds(const char* key, const char* name,
                                     const NamedSeconds& entries);

/// A phase of a plan: a part of its `seconds`.
struct Phase {
  const char* step;
  const char* name;  ///< name in a time breakdown
  float PhaseTimes::*seconds;
};

/// The phases in the order in which they follow each other.
inline constexpr std::array phases_of_a_plan{
    Phase{"read", "reading", &PhaseTimes::read_s}, Phase{"hash", "hashing", &PhaseTimes::hash_s},
    Phase{"solve", "solving", &PhaseTimes::solve_s},
    Phase{"statistics", "statistics", &PhaseTimes::statistics_s},
    Phase{"compress", "compressing", &PhaseTimes::compress_s}};

using PhaseSeconds = std::array<double, phases_of_a_plan.size()>;

inline void add_phases(const PhaseTimes& of_plan, PhaseSeconds& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum.at(i) += static_cast<double>(of_plan.*phases_of_a_plan.at(i).seconds);
}

/// Time in which a slot was solving a plan.
struct SlotInterval {
  std::size_t row = 0;  ///< index among the rows
  double started_s = 0;
  double seconds = 0;
  PhaseTimes phases;
};

/// A slot of a session, and the plans that it solved, in order.
struct SlotTimeline {
  std::uint32_t session = 0;
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  std::string host;
  std::string device;
  std::vector<SlotInterval> plans;  ///< sorted by started_s
  double cpu_s = 0;                 ///< CPU time of its plans, as far as it is known
};

/// Returns all slots with at least one plan whose start and slot are known, sorted by session, rank
/// and slot.
[[nodiscard]] std::vector<SlotTimeline> slot_timelines(const Rows& rows);

/// Breakdown of the time of all slots of a session, which is threads x wall time.
struct TimeBreakdown {
  std::uint32_t session = 0;
  std::size_t threads = 0;
  double wall_s = 0;
  NamedSeconds seconds = {};  ///< categories; the same in each time breakdown
  double cpu_s = 0;           ///< CPU time of the plans of these threads
  double start_s = 0;         ///< from the start of the session to the first plan of a slot; mean
  double end_s = 0;           ///< from the end of the last plan to the end of the session
  double between_s = 0;       ///< sum of the gaps between two plans of a slot
  std::size_t gaps = 0;       ///< number of these gaps

  [[nodiscard]] double total_s() const { return static_cast<double>(threads) * wall_s; }
};

/// Returns a time breakdown for each session that has slots and was not killed; the end of a killed
/// session is unknown.
[[nodiscard]] std::vector<TimeBreakdown> time_breakdowns(const std::vector<SlotTimeline>& slots,
                                                         const std::vector<Attributes>& sessions);

/// Returns the sum of each category; an empty list if there are no time breakdowns.
[[nodiscard]] NamedSeconds sum_of(const std::vector<TimeBreakdown>& breakdowns);

/// Times of a run outside its plans. All are means over its sessions.
struct RunOverheads {
  double start_s = 0;          ///< from the start of a session to the first plan of a slot
  double wait_per_plan_s = 0;  ///< between two plans of a slot, which waits for rank 0
  double end_s = 0;            ///< from the end of the last plan to the end of the session
};
/// Returns nullopt if there are no time breakdowns.
[[nodiscard]] std::optional<RunOverheads> overheads_of(
    const std::vector<TimeBreakdown>& breakdowns);

/// Returns the share of time in which a slot was solving plans, in `bins` equal intervals from 0 to
/// wall_s.
[[nodiscard]] std::vector<double> busy_shares(const SlotTimeline& slot, double wall_s,
                                              std::size_t bins);

/// Adds the time breakdown of all sessions together, and the slot timelines of each session if
/// there are few.
void add_session_times(const std::vector<TimeBreakdown>& breakdowns,
                       const std::vector<SlotTimeline>& slots, Report& report);

}  // namespace wallheat
