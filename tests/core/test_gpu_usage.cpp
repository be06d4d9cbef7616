#include <cmath>

#include "core/machine.hpp"
#include "support/matchers.hpp"

namespace wallheat {
namespace {

TEST(GpuUsage, has_means_maxima_and_the_last_energy) {
  GpuUsage usage;
  usage.add({.utilisation_pct = 80, .power_w = 300, .energy_j = 0});
  usage.add({.utilisation_pct = 100, .power_w = 500, .energy_j = 400});
  usage.add({.temperature_c = -5, .energy_j = 900});
  EXPECT_EQ(usage.samples, 3U);
  EXPECT_EQ(usage.utilisation_pct.mean(), 90) << "a reading that is not there does not count";
  EXPECT_EQ(usage.utilisation_pct.max(), 100);
  EXPECT_EQ(usage.power_w.mean(), 400);
  EXPECT_EQ(usage.energy_j, 900);
  EXPECT_EQ(usage.temperature_c.max(), -5);
  EXPECT_TRUE(std::isnan(usage.sm_clock_mhz.mean()));
  EXPECT_TRUE(std::isnan(usage.sm_clock_mhz.max()));
}

TEST(DeviceTimes, leave_to_the_host_what_neither_the_device_nor_waiting_took) {
  DeviceTimes times{.upload_s = 1, .kernel_s = 5, .download_s = 1, .wait_s = 8};
  EXPECT_EQ(times.host_s(10), 2) << "it waited for the driver, too";
  times.wait_s = 3;
  EXPECT_EQ(times.host_s(10), 3) << "it launched while the device was at work";
  EXPECT_EQ(times.host_s(6), 0) << "clocks differ";
}

}  // namespace
}  // namespace wallheat
