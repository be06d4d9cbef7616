#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace wallheat {

/// How plans come to workers.
enum class Schedule {
  static_shares,  ///< contiguous shares in the order of the ids, equal in number (by one at most)
  dynamic,        ///< the next plan in the order of the ids to the first worker that is free
  longest_first,  ///< the same with long plans first (Graham's LPT, 1969), as `wallheat run` does
};
[[nodiscard]] std::string_view to_string(Schedule schedule);

/// How long workers would take together for plans whose seconds are known.
class Replay {
 public:
  /// `seconds` of each plan, in the order of the ids.
  Replay(std::vector<double> seconds, Schedule schedule);
  /// Until the last of `workers` (at least 1) has done its last plan. O(plans x log workers).
  [[nodiscard]] double seconds(std::size_t workers) const;
  /// How long the longest plan takes: no number of workers takes less.
  [[nodiscard]] double longest_plan_s() const;
  /// This number of workers takes no longer than the longest plan; fewer may not suffice.
  [[nodiscard]] std::size_t sufficient_workers() const;

 private:
  [[nodiscard]] double static_shares_seconds(std::size_t workers) const;

  std::vector<double> plans_;  // in the order in which they are handed out
  Schedule schedule_;
};

/// The factor by which stored seconds of plans grow with `workers`: `slowdown` is how many
/// times as long a plan takes beside others as alone, and the seconds are of a run with
/// `stored_with` workers.
[[nodiscard]] double contention_factor(double slowdown, std::size_t stored_with,
                                       std::size_t workers);

}  // namespace wallheat
