#pragma once

#include <string>

#include "wallheat/plan_result.hpp"

namespace wallheat {

/// What plans took, in s: the time of solver threads, and for how much of it they had a core.
class ThreadTime {
 public:
  void add(const PlanResult& result);
  /// Wall time of all threads.
  [[nodiscard]] double seconds() const { return seconds_; }
  /// Less than seconds() if threads waited: for a core, a disk or a GPU. NaN if it is not known.
  [[nodiscard]] double cpu_seconds() const;
  /// True if threads that solve on a CPU had their cores for less than four fifths of the time, so
  /// that wall times say little about the solver.
  [[nodiscard]] bool cores_were_shared() const;
  /// "17 s of CPU time", or all that is known.
  [[nodiscard]] std::string text() const;

 private:
  double seconds_ = 0;
  double known_s_ = 0;  ///< of these, of results whose CPU time is known
  double cpu_s_ = 0;
  double on_cpus_s_ = 0;  ///< of known_s_, if a CPU solved
  double of_cpus_s_ = 0;  ///< of cpu_s_, the same
};

}  // namespace wallheat
