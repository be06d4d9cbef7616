#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace wallheat {

/// What the processors of a node did between two looks. NaN where the system does not tell.
struct CpuSample {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double busy_pct = unknown;           ///< of the time of all cpus, by whatever process
  std::map<int, double> cpu_pct;       ///< the same of each, by the operating system's number
  double memory_used_bytes = unknown;  ///< what new processes could not have now
  double power_w = unknown;            ///< of all sockets, mean since the look before
  double energy_j = unknown;           ///< since the first look
};

/// Reads what Linux tells of the processors and the memory of this node: /proc/stat, /proc/meminfo
/// and the energy counters of the sockets (RAPL, under /sys/class/powercap).
class CpuTelemetry {
 public:
  /// `root` is where proc and sys lie. Takes the first look, at `now_s` of any clock that goes
  /// steadily. Throws RunError if there is no /proc/stat.
  explicit CpuTelemetry(double now_s, std::filesystem::path root = "/");

  /// Throws RunError as the constructor.
  [[nodiscard]] CpuSample sample(double now_s);

  /// A clause that says why there is no energy; empty where there is.
  [[nodiscard]] const std::string& no_energy() const { return no_energy_; }

 private:
  struct Ticks {
    double busy = 0, all = 0;  ///< since the start of the system
  };
  /// A counter of µJ that begins again at 0.
  struct Counter {
    std::filesystem::path file;
    double range_uj = 0;
    double last_uj = 0;
  };

  [[nodiscard]] std::map<int, Ticks> ticks() const;
  void find_counters();
  [[nodiscard]] double energy_since_last_look();

  std::filesystem::path root_;
  std::map<int, Ticks> last_ticks_;  // by number; all together under -1
  std::vector<Counter> counters_;
  std::string no_energy_;
  double energy_j_ = 0;
  double last_s_;
};

}  // namespace wallheat
