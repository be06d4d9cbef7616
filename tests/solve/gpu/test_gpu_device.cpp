#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "forecast/offload.hpp"
#include "solve/gpu/device.hpp"
#include "solve/gpu/stream.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

// Tests of the host-side decisions about a device. They need no GPU.

namespace wallheat::gpu {
namespace {

/// A device that finishes at done_s, and a clock that advances only by sleeping.
struct SlowDevice {
  double done_s = 0;
  double now_s = 0;
  std::vector<double> pauses{};
  void wait() {
    poll_until_done([this] { return now_s >= done_s; },
                    [this](double seconds) {
                      now_s += seconds;
                      pauses.push_back(seconds);
                    },
                    "the kernel of the test");
  }
};

TEST(PollUntilDone, AvoidsSpinningOrOversleeping) {
  SlowDevice done;
  done.wait();
  EXPECT_TRUE(done.pauses.empty());
  for (const double done_s : {1e-4, 1e-3, 1e-2, 1.0, 29.0}) {
    SlowDevice device{done_s};
    device.wait();
    EXPECT_LE(device.now_s, done_s * 9 / 8 + 50e-6) << done_s;
    EXPECT_LE(device.now_s, done_s + 200e-6 + 1e-9) << done_s;
    EXPECT_GE(std::ranges::min(device.pauses), 50e-6);
    EXPECT_LE(static_cast<double>(device.pauses.size()), 40 + done_s / 200e-6) << done_s;
  }
}

TEST(PollUntilDone, ThrowsDeviceTimeoutAfterThirtySeconds) {
  SlowDevice device{1e9};
  EXPECT_THAT(error_message_of<DeviceTimeout>([&] { device.wait(); }),
              Mentions({"30 s", "the kernel of the test"}));
  EXPECT_NEAR(device.now_s, 30, 0.01);
}

TEST(PollUntilDone, PropagatesDeviceFault) {
  EXPECT_THROW(
      poll_until_done([]() -> bool { throw DeviceFault("it failed"); }, [](double) {}, "it"),
      DeviceFault);
}

TEST(MaxPlansInFlight, KeepsGpuBusyWithinHardwareQueueLimit) {
  EXPECT_EQ(max_plans_in_flight(40, 32), 18U);
  EXPECT_EQ(max_plans_in_flight(132, 32), 32U);
  EXPECT_EQ(max_plans_in_flight(132, 8), 8U);
  EXPECT_EQ(max_plans_in_flight(2, 32), 3U);
}

TEST(GpuQueues, FollowsUserSettingOrUsesAll) {
  const char* const name = "CUDA_DEVICE_MAX_CONNECTIONS";
  ::unsetenv(name);
  EXPECT_EQ(gpu_queues(), 8U) << "the driver's default";
  use_all_gpu_queues();
  EXPECT_EQ(gpu_queues(), 32U);
  ::setenv(name, "4", 1);
  use_all_gpu_queues();
  EXPECT_EQ(gpu_queues(), 4U);
  ::setenv(name, "100", 1);
  EXPECT_EQ(gpu_queues(), 32U) << "more than the GPU has";
  ::unsetenv(name);
  use_all_gpu_queues();  // the default of other tests of this program
}

/// A published example: transfers with 15 GB/s, a CPU with 1 Gflop/s, and a GPU with 1000 Gflop/s.
constexpr Offload published{.bytes_per_s = 15e9, .cpu_per_s = 1e9, .gpu_per_s = 1e12, .start_s = 0};

TEST(Offload, MatchesPublishedBreakEvenPoints) {
  EXPECT_NEAR(break_even_operations(published, 8), 0.534, 0.0005);
  EXPECT_NEAR(break_even_operations(published, 16), 1.068, 0.0005);
  EXPECT_TRUE(std::isinf(break_even_operations({1e9, 1e9, 1e9, 0}, 8)));
}

TEST(Offload, BreaksEvenWhenDurationsAreEqual) {
  const Offload offload{.bytes_per_s = 2e9, .cpu_per_s = 3e9, .gpu_per_s = 9e9, .start_s = 1e-3};
  const double n = break_even_operations(offload, 1e6);
  EXPECT_NEAR(n / 3e9, 1e-3 + 1e6 / 2e9 + n / 9e9, 1e-12);
}

}  // namespace
}  // namespace wallheat::gpu
