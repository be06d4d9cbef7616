#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "queue/background_thread.hpp"
#include "queue/coordinator.hpp"

namespace wallheat {

/// What is to be stored and told, in order.
struct Records {
  std::vector<Event> events;  ///< told first
  std::deque<Event> results;  ///< stored, then told
  std::size_t bytes = 0;      ///< of fields
  /// The last of each worker: told after all else.
  std::map<int, Event> heartbeats;
};

/// Tells the observer of the events, stores the results, and tells of these, some thousands at a
/// time. A result that the sink stores otherwise than asked is told as it is stored. Throws what
/// sink and observer throw.
void work_off(Records& records, ResultSink& sink, const Observer& observer, const Runtime& runtime);

/// Takes what is to be stored and told from a thread that must never wait, and has it done by
/// another, all that has come together at a time.
class Recorder {
 public:
  Recorder(ResultSink& sink, Observer observer, Runtime& runtime);

  /// A heartbeat takes the place of the worker's last one, where that was not told yet: they must
  /// not pile up while a disk hangs.
  void add(Event event);
  /// Nothing more is told of how far its plans are.
  void forget_heartbeat(int rank) { news_.heartbeats.erase(rank); }

  /// So much is to be stored that no more should be asked for.
  [[nodiscard]] bool is_behind() const { return is_more_than(100'000, std::size_t{1} << 30); }
  /// So much that no more should be taken in.
  [[nodiscard]] bool is_far_behind() const { return is_more_than(300'000, std::size_t{3} << 30); }
  /// True where all that was handed over is done. Throws what sink and observer threw.
  [[nodiscard]] bool is_free_within(std::chrono::milliseconds timeout);
  /// Has it done; only where is_free_within() returned true.
  void hand_over(double seconds_left);

 private:
  [[nodiscard]] bool is_more_than(std::size_t results, std::size_t bytes) const {
    return news_.results.size() > results || news_.bytes > bytes;
  }

  ResultSink& sink_;
  Observer observer_;
  const Runtime& runtime_;
  Records news_;
  BackgroundThread thread_;  // last: it uses what is above
};

}  // namespace wallheat
