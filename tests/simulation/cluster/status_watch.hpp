#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulation/cluster/campaign.hpp"
#include "simulation/cluster/world.hpp"
#include "view/live_status.hpp"
#include "view/run_monitor.hpp"

namespace wallheat::simulation {

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
  std::vector<std::string> ids_;
  Log log_;                        // what is said is not for this test
  Seconds oldest_s_;               ///< that a status may grow
  std::optional<Seconds> seen_s_;  ///< nothing where rank 0 has none
  std::optional<LiveStatus> live_status_;
  std::optional<RunMonitor> monitor_;
};

}  // namespace wallheat::simulation
