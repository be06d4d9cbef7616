#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace wallheat {

/// What a GPU tells of itself at one moment. NaN where its driver does not tell.
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
  /// Memory errors that ECC could not correct, since the driver was loaded.
  double uncorrected_ecc_errors = unknown;
  /// Why the clock is held back: NVML's bit mask nvmlClocksThrottleReasons; 0 where unknown.
  std::uint64_t slowdown = 0;
};

/// How a GPU is set up: what does not change while it works. Empty where its driver does not tell.
struct GpuSettings {
  double power_cap_w = GpuSample::unknown;  ///< at which it is slowed down
  std::string ecc;                          ///< of its memory: "on", "off"; so mig
  std::string compute_mode;  ///< who may use it: "default", "exclusive process", "prohibited", ...
  std::string mig;
};

/// A process that uses a GPU. NaN where its driver does not tell.
struct GpuProcess {
  unsigned pid = 0;  ///< of the host, also where this is read in a container
  std::string name;  ///< the program's, without its directories; empty where it is not told
  double sm_pct = GpuSample::unknown;      ///< of the time since the look before; so the others
  double memory_pct = GpuSample::unknown;  ///< in which it read or wrote memory
  double encoder_pct = GpuSample::unknown;
  double decoder_pct = GpuSample::unknown;
  double memory_bytes = GpuSample::unknown;
};

/// The reasons in GpuSample::slowdown that cost speed or tell of trouble, in words. Being idle is
/// none.
[[nodiscard]] std::vector<std::string> slowdown_reasons(std::uint64_t slowdown);

/// Mean and largest of the readings that are known; NaN where none is.
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
  MeanAndMax uncorrected_ecc_errors;
  double energy_j = GpuSample::unknown;  ///< from the first sample to the last
  std::uint64_t slowdown = 0;            ///< all reasons that there were

  void add(const GpuSample& sample);
};

}  // namespace wallheat
