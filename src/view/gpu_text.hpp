#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.hpp"
#include "view/json_forward.hpp"

namespace wallheat {

/// Those of a plan that a GPU solved, and back. What is not there or is no number throws
/// nlohmann::json::exception.
[[nodiscard]] Json to_json(const DeviceTimes& times);
[[nodiscard]] DeviceTimes device_times_from_json(const Json& json);

/// A session's GPU seconds by what they were spent on, of all its threads: "host", "upload", ...
struct GpuSeconds {
  double host = 0;    ///< tiles, checks and copies of the host around what the device did
  double upload = 0;  ///< so the next by the device's clock, see DeviceTimes
  double kernel = 0;
  double download = 0;
  double waiting = 0;  ///< for the driver, between what the device did
  void add(const DeviceTimes& times, double solve_s);
  [[nodiscard]] double all() const { return host + upload + kernel + download + waiting; }
};

/// What each kernel took for a plan, by its name.
class KernelTimes {
 public:
  void add(const DeviceTimes& times);
  /// Title and a line a kernel: its plans, and their total, mean, least and largest time; empty if
  /// there was none.
  [[nodiscard]] std::vector<std::string> table() const;

 private:
  struct Times {
    std::size_t plans = 0;
    double total_s = 0;
    double least_s = 0;
    double largest_s = 0;
  };
  std::map<std::string, Times> kernels_;
};

/// The parts, by the names under which a session's attributes have them.
inline constexpr std::array gpu_seconds_names{
    std::pair{"gpu_host_seconds", &GpuSeconds::host},
    std::pair{"gpu_upload_seconds", &GpuSeconds::upload},
    std::pair{"gpu_kernel_seconds", &GpuSeconds::kernel},
    std::pair{"gpu_download_seconds", &GpuSeconds::download},
    std::pair{"gpu_waiting_seconds", &GpuSeconds::waiting}};

/// The readings that are known, each under its name in GpuSample.
[[nodiscard]] Json to_json(const GpuSample& sample);
/// Joules; NaN if it is not known.
[[nodiscard]] double energy_per_plan(const GpuUsage& usage, std::size_t plans);
/// Means and maxima that are known, and energy per plan.
[[nodiscard]] Json to_json(const GpuUsage& usage, std::size_t plans);

/// "97 % busy, 3.0 of 141.0 GB, 512 W, 61 °C, 1980 MHz", as far as it is known; empty if nothing
/// is.
[[nodiscard]] std::string gpu_text(const GpuSample& sample);
/// For a table: "95 / 100", and a number; "-" for what is not known.
[[nodiscard]] std::string cell_of(const MeanAndMax& reading);
[[nodiscard]] std::string cell_of(double number, int digits = 0);

}  // namespace wallheat
