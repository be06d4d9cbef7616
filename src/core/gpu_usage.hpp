#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>

namespace wallheat {

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

}  // namespace wallheat
