#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/runtime.hpp"
#include "queue/coordinator.hpp"
#include "queue/messages.hpp"

namespace wallheat {

/// What is to be stored and told, in order. Filled by the thread that never waits, worked off by
/// the one that does.
struct Records {
  enum class Kind { result, failed_try, conflict, abandoned };
  struct Record {
    Kind kind = Kind::result;
    PlanResult result;
    PlanProgress last{};  ///< of an abandoned plan
    Runtime::Clock::time_point added{};
  };
  std::vector<std::function<void(RunObserver&)>> events;
  std::vector<Record> results;
  std::size_t bytes = 0;  ///< of fields

  void add(Kind kind, PlanResult result, Runtime::Clock::time_point now);
  /// True where this is so much that no more should be asked for.
  [[nodiscard]] bool is_much() const { return results.size() > 100'000 || bytes > (1U << 30); }
};

/// Tells the observer of the events, stores the results, and tells of these. A result that the sink
/// stores otherwise than asked is told as it is stored. Throws what sink and observer throw.
void work_off(Records& records, ResultSink& sink, RunObserver& observer, const Runtime& runtime);

}  // namespace wallheat
