#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/gpu_stats.hpp"
#include "report/report.hpp"
#include "report/row_table.hpp"

namespace wallheat {

/// What the sessions that ended by themselves took; a killed one leaves no figures.
struct WallTime {
  std::size_t sessions = 0;
  std::size_t all_sessions = 0;
  double seconds = 0;  ///< in which any session ran: those of merged parts ran at the same time
  double plans = 0;    ///< solved in that time
  std::int64_t rank_memory = 0;  ///< bytes that a rank of theirs held at most; 0: unknown
  int rank = 0;                  ///< the one that did
  GpuTimeTotals on_gpus;         ///< all 0 if no plan was solved on one
  std::string kernels;           ///< a table of the GPUs' kernels for each session that used one
};
[[nodiscard]] WallTime wall_time(const std::vector<Attributes>& sessions);
/// Where the time of plans on GPUs went, and each kernel's.
void add_gpu_times(const WallTime& wall, Report& report);

using NamedSeconds = std::vector<std::pair<std::string, double>>;
/// With their shares of the sum; without a row if that is 0.
[[nodiscard]] Table table_of_seconds(const char* key, const char* name,
                                     const NamedSeconds& entries);

/// A part of a plan's `seconds`.
struct Phase {
  const char* step;
  const char* name;  ///< of where the time went
  float PhaseTimes::*seconds;
};

/// In the order in which they follow each other.
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

/// When a thread was at a plan.
struct SlotInterval {
  std::size_t row = 0;  ///< number of its row
  double started_s = 0;
  double seconds = 0;
  PhaseTimes phases;
};

/// A solver thread of a session, and the plans that it solved, in order.
struct SlotTimeline {
  std::uint32_t session = 0;
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  std::string host;
  std::string device;
  std::vector<SlotInterval> plans;  ///< ascending by started_s
  double cpu_s = 0;                 ///< of its plans, as far as they tell
};

/// All lanes with a plan whose start and thread are known, by session, rank and thread.
[[nodiscard]] std::vector<SlotTimeline> slot_timelines(const Rows& rows);

/// Where the time of a session's solver threads went: all of it, which is threads x wall time.
struct TimeBreakdown {
  std::uint32_t session = 0;
  std::size_t threads = 0;
  double wall_s = 0;
  NamedSeconds seconds = {};  ///< the same names in each ledger
  double cpu_s = 0;           ///< in which the threads had a core for their plans

  [[nodiscard]] double total_s() const { return static_cast<double>(threads) * wall_s; }
};

/// A ledger for each session that ended by itself and has lanes; a killed one leaves no end.
[[nodiscard]] std::vector<TimeBreakdown> time_breakdowns(const std::vector<SlotTimeline>& slots,
                                                         const std::vector<Attributes>& sessions);

/// Of each entry; nothing if there is no ledger.
[[nodiscard]] NamedSeconds sum_of(const std::vector<TimeBreakdown>& breakdowns);

/// The share of time that a lane was at plans, in `bins` equal stretches of 0 to wall_s.
[[nodiscard]] std::vector<double> busy_shares(const SlotTimeline& slot, double wall_s,
                                              std::size_t bins);

/// Adds what all sessions together took, and the threads over time of each, if they are few.
void add_session_times(const std::vector<TimeBreakdown>& breakdowns,
                       const std::vector<SlotTimeline>& slots, Report& report);

}  // namespace wallheat
