#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace wallheat {

/// Order in which plans are assigned to workers.
enum class Schedule {
  static_shares,  ///< contiguous shares in the order of the IDs, whose sizes differ by one at most
  dynamic,  ///< the next plan in the order of the IDs is assigned to the first worker that is free
  /// Like dynamic, with long plans first (Graham's LPT, 1969), as in `wallheat run`.
  longest_first,
};
[[nodiscard]] std::string_view to_string(Schedule schedule);

/// Predicts how long a number of workers takes for plans whose durations are known.
class Replay {
 public:
  /// `seconds` are the durations of the plans, in the order of the IDs.
  Replay(std::vector<double> seconds, Schedule schedule);
  /// Returns the time until the last of `workers` workers has solved its last plan, in s. `workers`
  /// must be at least 1. Takes O(plans x log workers).
  [[nodiscard]] double seconds(std::size_t workers) const;
  /// Returns the duration of the longest plan, which is a lower bound for all numbers of workers.
  [[nodiscard]] double longest_plan_s() const;
  /// Returns a number of workers that takes no longer than the longest plan. Fewer workers may not
  /// suffice.
  [[nodiscard]] std::size_t sufficient_workers() const;

 private:
  [[nodiscard]] double static_shares_seconds(std::size_t workers) const;

  std::vector<double> plans_;  // in the order of assignment
  Schedule schedule_;
};

/// Returns the factor by which stored durations of plans change with `workers` workers. `slowdown`
/// is the duration of a plan next to others divided by its duration alone. The stored durations are
/// of a run with `stored_with` workers.
[[nodiscard]] double contention_factor(double slowdown, std::size_t stored_with,
                                       std::size_t workers);

}  // namespace wallheat
