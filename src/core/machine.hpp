#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace wallheat {

/// A core that a process may use.
struct Core {
  int cpu = 0;     ///< operating system's number of the core's first usable hardware thread; the
                   ///< name by which processes of one host mean the same core
  int socket = 0;  ///< 0, 1, ... the same for all processes of a host
  int numa = 0;    ///< operating system's number of the NUMA node
  static void fields(auto& visit, auto& self) { visit(self.cpu, self.socket, self.numa); }
  friend bool operator==(const Core&, const Core&) = default;
};

/// A GPU that a process may use.
struct Gpu {
  int ordinal = 0;  ///< CUDA's number of the device in this process
  std::string name;
  std::string uuid;
  std::uint64_t memory_bytes = 0;
  int numa = -1;  ///< nearest NUMA node; -1 if unknown
  static void fields(auto& visit, auto& self) {
    visit(self.ordinal, self.name, self.uuid, self.memory_bytes, self.numa);
  }
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// How much CPU time the processes of a cgroup may use together.
struct CpuQuota {
  std::uint64_t group = 0;  ///< the cgroup; the same number in all containers of a system
  double cpus = 0;          ///< seconds of CPU time a second
  static void fields(auto& visit, auto& self) { visit(self.group, self.cpus); }
  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};

/// What one process finds on its node, within the cpuset it was given.
struct Machine {
  std::string host;
  std::vector<Core> cores;
  std::vector<Gpu> gpus;
  std::string no_gpu{};            ///< if gpus is empty: one clause that says why
  std::string system{};            ///< the running system, whose containers and names for it may
                                   ///< be many; empty: the host's name stands for it
  int host_cores = 0;              ///< cores that it might use if nobody had bound it; 0: unknown
  std::vector<CpuQuota> quotas{};  ///< that hold for it
  std::uint64_t memory_bytes = 0;  ///< that it may hold, together with others; 0: unknown
  static void fields(auto& visit, auto& self) {
    visit(self.host, self.cores, self.gpus, self.no_gpu, self.system, self.host_cores, self.quotas,
          self.memory_bytes);
  }
  friend bool operator==(const Machine&, const Machine&) = default;
};

/// What a GPU tells of itself at one moment. NaN if its driver does not tell.
struct GpuSample {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  /// % of the driver's latest interval (1/6 to 1 s) in which any kernel ran.
  double utilisation_pct = unknown;
  double memory_utilisation_pct = unknown;  ///< % of it in which memory was read or written
  double encoder_pct = unknown;             ///< how busy the video encoder was, %; so the decoder
  double decoder_pct = unknown;
  double memory_used_bytes = unknown;  ///< by all processes
  double memory_total_bytes = unknown;
  double power_w = unknown;
  double temperature_c = unknown;         ///< °C
  double memory_temperature_c = unknown;  ///< °C
  double sm_clock_mhz = unknown;
  double memory_clock_mhz = unknown;
  double energy_j = unknown;  ///< since the first sample
};

/// A reading of a GPU: its name in JSON, and as a column of `nvidia-smi dmon`, with its unit there.
struct GpuReading {
  const char* name;
  double GpuSample::*value;
  const char* column;  ///< none: not in the table
  const char* unit;
  double per_unit;  ///< the value divided by it is in that unit
};
inline constexpr std::array gpu_readings{
    GpuReading{"power_w", &GpuSample::power_w, "pwr", "W", 1},
    GpuReading{"temperature_c", &GpuSample::temperature_c, "gtemp", "C", 1},
    GpuReading{"memory_temperature_c", &GpuSample::memory_temperature_c, "mtemp", "C", 1},
    GpuReading{"utilisation_pct", &GpuSample::utilisation_pct, "sm", "%", 1},
    GpuReading{"memory_utilisation_pct", &GpuSample::memory_utilisation_pct, "mem", "%", 1},
    GpuReading{"encoder_pct", &GpuSample::encoder_pct, "enc", "%", 1},
    GpuReading{"decoder_pct", &GpuSample::decoder_pct, "dec", "%", 1},
    GpuReading{"memory_clock_mhz", &GpuSample::memory_clock_mhz, "mclk", "MHz", 1},
    GpuReading{"sm_clock_mhz", &GpuSample::sm_clock_mhz, "pclk", "MHz", 1},
    GpuReading{"memory_used_bytes", &GpuSample::memory_used_bytes, "fb", "MiB", 1 << 20},
    GpuReading{"energy_j", &GpuSample::energy_j, "energy", "J", 1},
    GpuReading{"memory_total_bytes", &GpuSample::memory_total_bytes, nullptr, "", 1},
};

/// A process that uses a GPU. NaN if its driver does not tell.
struct GpuProcess {
  unsigned pid = 0;  ///< of the host, also if this is read in a container
  std::string name;  ///< the program's, without its directories; empty if it is not told
  double sm_pct = GpuSample::unknown;      ///< of the time since the look before; so the others
  double memory_pct = GpuSample::unknown;  ///< in which it read or wrote memory
  double encoder_pct = GpuSample::unknown;
  double decoder_pct = GpuSample::unknown;
  double memory_bytes = GpuSample::unknown;
};

/// Mean and largest of the readings that are known; NaN if none is.
class MeanAndMax {
 public:
  void add(double reading);
  [[nodiscard]] double mean() const;
  [[nodiscard]] double max() const { return max_; }

 private:
  std::size_t count_ = 0;
  double sum_ = 0;
  double max_ = GpuSample::unknown;
};

/// A GPU's samples put together.
struct GpuUsage {
  std::size_t samples = 0;
  MeanAndMax utilisation_pct;
  MeanAndMax memory_used_bytes;
  MeanAndMax power_w;
  MeanAndMax temperature_c;  ///< °C
  MeanAndMax sm_clock_mhz;
  double energy_j = GpuSample::unknown;  ///< from the first sample to the last

  void add(const GpuSample& sample);
};

/// What a plan's time on a GPU was spent on, in s of the GPU's clock, and by what it was solved.
/// All 0 and empty if a CPU solved it.
struct DeviceTimes {
  double upload_s = 0;
  double kernel_s = 0;    ///< launches, and their waiting for room on a device that others fill
  double download_s = 0;  ///< what was copied after the first launch
  /// In which the thread waited, by its own clock. What it did not spend on the three above went
  /// into launches and the driver.
  double wait_s = 0;
  std::string kernel{};
  std::int32_t stream = 0;   ///< of the device, from 0
  std::int32_t blocks = 0;   ///< of a launch
  std::int32_t threads = 0;  ///< of a block

  static void fields(auto& visit, auto& self) {
    visit(self.upload_s, self.kernel_s, self.download_s, self.wait_s, self.kernel, self.stream,
          self.blocks, self.threads);
  }
  [[nodiscard]] double on_device_s() const { return upload_s + kernel_s + download_s; }
  /// The rest of a solve of `solve_s`: work of the host while the device had none of this
  /// plan.
  [[nodiscard]] double host_s(double solve_s) const {
    return std::max(solve_s - std::max(wait_s, on_device_s()), 0.0);
  }
};

}  // namespace wallheat
