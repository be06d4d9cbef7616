#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "wallheat/statistics.hpp"

// What GPUs tell. Of the device, by its driver: a sample each second, their summary for a session,
// and who uses it. Of plans, by the device's clock: the times of each, and of all of a session.

namespace wallheat {

/// What a GPU tells of itself at one moment. NaN if its driver does not tell.
struct GpuSample {
  /// % of the driver's latest interval (1/6 to 1 s) in which any kernel ran.
  double utilisation_pct = nan_value;
  double memory_utilisation_pct = nan_value;  ///< % of it in which memory was read or written
  double encoder_pct = nan_value;             ///< how busy the video encoder was, %; so the decoder
  double decoder_pct = nan_value;
  double memory_used_bytes = nan_value;  ///< by all processes
  double memory_total_bytes = nan_value;
  double power_w = nan_value;
  double temperature_c = nan_value;         ///< °C
  double memory_temperature_c = nan_value;  ///< °C
  double sm_clock_mhz = nan_value;
  double memory_clock_mhz = nan_value;
  double energy_j = nan_value;  ///< since the first sample
};

/// A field of it: its name in JSON, and as a column of `nvidia-smi dmon`, with its unit there.
struct GpuSampleField {
  const char* name;
  double GpuSample::*value;
  const char* column;  ///< none: not in the table
  const char* unit;
  double per_unit;  ///< the value divided by it is in that unit
};
inline constexpr std::array gpu_sample_fields{
    GpuSampleField{"power_w", &GpuSample::power_w, "pwr", "W", 1},
    GpuSampleField{"temperature_c", &GpuSample::temperature_c, "gtemp", "C", 1},
    GpuSampleField{"memory_temperature_c", &GpuSample::memory_temperature_c, "mtemp", "C", 1},
    GpuSampleField{"utilisation_pct", &GpuSample::utilisation_pct, "sm", "%", 1},
    GpuSampleField{"memory_utilisation_pct", &GpuSample::memory_utilisation_pct, "mem", "%", 1},
    GpuSampleField{"encoder_pct", &GpuSample::encoder_pct, "enc", "%", 1},
    GpuSampleField{"decoder_pct", &GpuSample::decoder_pct, "dec", "%", 1},
    GpuSampleField{"memory_clock_mhz", &GpuSample::memory_clock_mhz, "mclk", "MHz", 1},
    GpuSampleField{"sm_clock_mhz", &GpuSample::sm_clock_mhz, "pclk", "MHz", 1},
    GpuSampleField{"memory_used_bytes", &GpuSample::memory_used_bytes, "fb", "MiB", 1 << 20},
    GpuSampleField{"energy_j", &GpuSample::energy_j, "energy", "J", 1},
    GpuSampleField{"memory_total_bytes", &GpuSample::memory_total_bytes, nullptr, "", 1},
};

/// A process that uses a GPU. NaN if its driver does not tell.
struct GpuProcess {
  unsigned pid = 0;           ///< of the host, also if this is read in a container
  std::string name;           ///< the program's, without its directories; empty if it is not told
  double sm_pct = nan_value;  ///< of the time since the look before; so the others
  double memory_pct = nan_value;  ///< in which it read or wrote memory
  double encoder_pct = nan_value;
  double decoder_pct = nan_value;
  double memory_bytes = nan_value;
};

/// Of the numbers that are known; NaN if none is.
class SampleStats {
 public:
  void add(double number);
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double mean() const;
  [[nodiscard]] double min() const { return min_; }
  [[nodiscard]] double max() const { return max_; }

 private:
  std::size_t count_ = 0;
  double sum_ = 0;
  double min_ = nan_value;
  double max_ = nan_value;
};

/// A GPU's samples of a session put together.
struct GpuUsage {
  std::size_t samples = 0;
  SampleStats utilisation_pct;
  SampleStats memory_used_bytes;
  SampleStats power_w;
  SampleStats temperature_c;  ///< °C
  SampleStats sm_clock_mhz;
  double energy_j = nan_value;  ///< from the first sample to the last

  void add(const GpuSample& sample);
};

/// What a plan's time on a GPU was spent on, in s of the GPU's clock, and by what it was solved.
/// All 0 and empty if a CPU solved it.
struct GpuPlanTimes {
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

/// What all plans of a session spent on GPUs, in s, of all their threads.
struct GpuTimeTotals {
  double host = 0;  ///< tiles, checks and copies of the host around what the device did
  double upload = 0;
  double kernel = 0;
  double download = 0;
  double waiting = 0;  ///< for the driver, between what the device did

  void add(const GpuPlanTimes& times, double solve_s);
  [[nodiscard]] double total() const { return host + upload + kernel + download + waiting; }
};

/// A part of it: its name among a session's attributes, and for people.
struct GpuTimeCategory {
  const char* name;
  const char* text;
  double GpuTimeTotals::*seconds;
};
inline constexpr std::array gpu_time_categories{
    GpuTimeCategory{"gpu_host_seconds", "the host's work", &GpuTimeTotals::host},
    GpuTimeCategory{"gpu_upload_seconds", "upload", &GpuTimeTotals::upload},
    GpuTimeCategory{"gpu_kernel_seconds", "kernels", &GpuTimeTotals::kernel},
    GpuTimeCategory{"gpu_download_seconds", "download", &GpuTimeTotals::download},
    GpuTimeCategory{"gpu_waiting_seconds", "waiting for the driver", &GpuTimeTotals::waiting},
};

}  // namespace wallheat
