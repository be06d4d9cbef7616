#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/cluster/campaign.hpp"
#include "simulation/cluster/world.hpp"
#include "view/run_monitor.hpp"
#include "view/run_status.hpp"

// What is watched of a session besides its results.
namespace wallheat::simulation {

/// What the solver threads of a session really do: by this it is judged whether one idles for long
/// while a plan waits.
class Threads {
 public:
  Threads(World& world, std::size_t plans, std::size_t workers, std::size_t threads_of_each);

  /// A thread of the worker is at the plan as long as this lives.
  class AtWork {
   public:
    AtWork(Threads& threads, int worker, std::uint32_t plan);
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;
    ~AtWork();

   private:
    Threads& threads_;
    int worker_;
    std::uint32_t plan_;
  };

  /// A thread of those workers (rank, since when it counts) that has been idle for longer than
  /// `longest_s` (of a plan) while one of those plans waited all the time: as a sentence; nothing
  /// where there is none.
  [[nodiscard]] std::optional<std::string> idle_for_long(
      const std::map<int, Seconds>& workers, const std::vector<std::uint32_t>& plans,
      const std::function<Seconds(std::uint32_t plan)>& longest_s) const;

 private:
  struct State {
    std::size_t at_work = 0;
    Seconds since_s = 0;  ///< it has had an idle thread, or has been at no thread
  };
  World& world_;
  std::size_t threads_of_each_;
  std::vector<State> plans_;
  std::vector<State> workers_;  ///< by rank
};

/// A launcher's view of one session. It sees only the status that rank 0 writes, and takes a run
/// whose status stays as it is for dead.
class StatusWatch {
 public:
  StatusWatch(Campaign& campaign, Process& rank0);

  // What rank 0 does, in this order; it may leave out what is in the middle.

  void starts();
  [[nodiscard]] RunMonitor& solves();
  void closes();
  void ends();

  /// From now on, now and then. `awake_since`: when rank 0 was last stopped, or its disk hung.
  void judge(std::function<Seconds()> awake_since);

 private:
  void see(const RunStatus& status);

  Campaign& campaign_;
  Process& rank0_;
  TextList ids_;
  Log log_;                        // what is said is not for this test
  Seconds oldest_s_;               ///< that a status may grow
  std::optional<Seconds> seen_s_;  ///< nothing where rank 0 has none
  std::optional<LiveStatus> live_status_;
  std::optional<RunMonitor> monitor_;
};

}  // namespace wallheat::simulation
