#pragma once

#include <filesystem>
#include <limits>

namespace wallheat {

/// What the processors of a node did between two looks. NaN if the system does not tell.
struct CpuSample {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double busy_pct = unknown;           ///< of the time of all cpus, by whatever process
  double memory_used_bytes = unknown;  ///< what new processes could not have now
};

/// Reads what Linux tells of the processors and the memory of this node: /proc/stat, /proc/meminfo.
class CpuTelemetry {
 public:
  /// `root` is where proc lies. Takes the first look. Throws RunError if there is no /proc/stat.
  explicit CpuTelemetry(std::filesystem::path root = "/");

  /// Throws RunError as the constructor.
  [[nodiscard]] CpuSample sample();

 private:
  struct Ticks {
    double busy = 0, all = 0;  ///< since the start of the system
  };
  [[nodiscard]] Ticks ticks() const;

  std::filesystem::path root_;
  Ticks last_;
};

}  // namespace wallheat
