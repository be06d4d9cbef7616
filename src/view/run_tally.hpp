#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "view/thread_time.hpp"

namespace wallheat {

/// What has become of the plans of a run so far.
struct RunTally {
  std::size_t total = 0;
  std::size_t restored = 0;  ///< answers of earlier sessions
  std::size_t given_up = 0;  ///< failed too often in earlier sessions, and not tried again
  std::size_t solved = 0;
  std::size_t failed = 0;
  std::size_t failed_tries = 0;  ///< failures that were not the last word
  ThreadTime spent;              ///< on this session's plans
  double failed_seconds = 0;     ///< of these, spent on failures
  double repeated_seconds = 0;   ///< spent on answers that another worker had given before
  double abandoned_seconds = 0;  ///< spent on plans that the end cut short
  std::set<std::uint32_t> failed_plans{};  ///< each may still be answered

  [[nodiscard]] std::size_t left() const { return total - restored - given_up - solved - failed; }
};

}  // namespace wallheat
