#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace wallheat {

/// The latest of many waits, always in order: adding one, dropping one and finding a rank take
/// O(log n) (Fenwick, A New Data Structure for Cumulative Frequency Tables, 1994).
class WaitWindow {
 public:
  /// `values` holds every wait that will be added, in any order, in s.
  explicit WaitWindow(std::vector<std::int64_t> values);
  void add(std::int64_t wait_s);
  /// Drops the oldest until so many are left.
  void keep_latest(std::size_t count);
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  /// The wait with this rank, from 1 to size().
  [[nodiscard]] std::int64_t ranked(std::size_t rank) const;

 private:
  void change(std::size_t place, std::int32_t by);

  std::vector<std::int64_t> values_;  ///< ascending, each once
  std::vector<std::int32_t> counts_;  ///< a tree of sums over them
  std::deque<std::uint32_t> places_;  ///< of the waits among the values, oldest first
};

}  // namespace wallheat
