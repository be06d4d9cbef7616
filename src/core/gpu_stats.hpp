#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>

#include "core/members.hpp"
#include "wallheat/statistics.hpp"

// Measurements of GPUs. Of the device, by its driver: one sample per second, a summary of the
// samples of a session, and the processes that use the device. Of plans, by the clock of the
// device: the times of each plan, and the totals of a session.

namespace wallheat {

/// Values that the driver of a GPU reports at one moment. NaN if the driver does not report a
/// value.
struct GpuSample {
  /// % of the driver's latest interval (1/6 to 1 s) in which at least one kernel ran
  double utilisation_pct = nan_value;
  /// % of this interval in which memory was read or written.
  double memory_utilisation_pct = nan_value;
  double encoder_pct = nan_value;  ///< utilisation of the video encoder in %
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

/// A member of a GpuSample, and its column in `nvidia-smi dmon`, with the unit there.
struct GpuReading : MemberOf<GpuSample, double> {
  const char* column;  ///< null: not in the table
  const char* unit;
  double per_unit;  ///< conversion: value / per_unit is in `unit`
};
constexpr void visit_members(std::type_identity<GpuSample>, auto&& visit) {
  for (const GpuReading& reading :
       {GpuReading{{"power_w", &GpuSample::power_w}, "pwr", "W", 1},
        GpuReading{{"temperature_c", &GpuSample::temperature_c}, "gtemp", "C", 1},
        GpuReading{{"memory_temperature_c", &GpuSample::memory_temperature_c}, "mtemp", "C", 1},
        GpuReading{{"utilisation_pct", &GpuSample::utilisation_pct}, "sm", "%", 1},
        GpuReading{{"memory_utilisation_pct", &GpuSample::memory_utilisation_pct}, "mem", "%", 1},
        GpuReading{{"encoder_pct", &GpuSample::encoder_pct}, "enc", "%", 1},
        GpuReading{{"decoder_pct", &GpuSample::decoder_pct}, "dec", "%", 1},
        GpuReading{{"memory_clock_mhz", &GpuSample::memory_clock_mhz}, "mclk", "MHz", 1},
        GpuReading{{"sm_clock_mhz", &GpuSample::sm_clock_mhz}, "pclk", "MHz", 1},
        GpuReading{{"memory_used_bytes", &GpuSample::memory_used_bytes}, "fb", "MiB", 1 << 20},
        GpuReading{{"energy_j", &GpuSample::energy_j}, "energy", "J", 1},
        GpuReading{{"memory_total_bytes", &GpuSample::memory_total_bytes}, nullptr, "", 1}})
    visit(reading);
}

/// Process that uses a GPU. NaN if the driver does not report a value.
struct GpuProcess {
  unsigned pid = 0;               ///< in the host's namespace, also if it is read in a container
  std::string name;               ///< of the program, without directories; empty if unknown
  double sm_pct = nan_value;      ///< % of the time since the previous sample, like the three below
  double memory_pct = nan_value;  ///< time in which it read or wrote memory
  double encoder_pct = nan_value;
  double decoder_pct = nan_value;
  double memory_bytes = nan_value;
};

/// Count, sum and extremes of numbers; NaN is ignored. The mean and the extremes are NaN before
/// the first number.
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

/// Summary of the samples of a GPU in one session.
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

/// Time that a plan spent on a GPU, in s of the clock of the GPU, and the kernel that solved it.
/// All values are 0 and empty if a CPU solved the plan.
struct GpuPlanTimes {
  double upload_s = 0;
  /// Launches, including their waits for resources of a device that others use.
  double kernel_s = 0;
  double download_s = 0;  ///< copies made after the first launch
  /// Wall time in which the thread waited for the GPU. The part that the three phases above do not
  /// account for went into launches and the driver.
  double wait_s = 0;
  std::string kernel{};
  std::int32_t stream = 0;  ///< stream of the device, from 0
  std::int32_t grid = 0;    ///< blocks per launch
  std::int32_t block = 0;   ///< threads per block

  [[nodiscard]] double on_device_s() const { return upload_s + kernel_s + download_s; }
  /// Returns the rest of a solve that took `solve_s`: work of the host while the device had no work
  /// of this plan.
  [[nodiscard]] double host_s(double solve_s) const {
    return std::max(solve_s - std::max(wait_s, on_device_s()), 0.0);
  }
};
WALLHEAT_MEMBERS(GpuPlanTimes, upload_s, kernel_s, download_s, wait_s, kernel, stream, grid, block);

/// Time that all plans of a session spent on GPUs, in s, summed over all threads.
struct GpuTimeTotals {
  /// Tiles, checks and copies of the host before and after the work of the device.
  double host = 0;
  double upload = 0;
  double kernel = 0;
  double download = 0;
  double waiting = 0;  ///< for the driver, between operations of the device

  void add(const GpuPlanTimes& times, double solve_s);
  [[nodiscard]] double total() const { return host + upload + kernel + download + waiting; }
};

/// A time of GpuTimeTotals: its name among the attributes of a session, and its name in text
/// output.
struct GpuTimeCategory {
  const char* name;
  const char* text;
  double GpuTimeTotals::*seconds;
};
inline constexpr std::array gpu_time_categories{
    GpuTimeCategory{"gpu_host_seconds", "host work", &GpuTimeTotals::host},
    GpuTimeCategory{"gpu_upload_seconds", "upload", &GpuTimeTotals::upload},
    GpuTimeCategory{"gpu_kernel_seconds", "kernels", &GpuTimeTotals::kernel},
    GpuTimeCategory{"gpu_download_seconds", "download", &GpuTimeTotals::download},
    GpuTimeCategory{"gpu_waiting_seconds", "waiting for the driver", &GpuTimeTotals::waiting},
};

}  // namespace wallheat
