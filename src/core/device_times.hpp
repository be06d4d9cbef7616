#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace wallheat {

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
