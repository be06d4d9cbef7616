#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <optional>
#include <vector>

#include "solve/gpu/await_work.hpp"
#include "solve/gpu/device.hpp"
#include "solve/gpu/grid_probe.hpp"
#include "solve/gpu/step_clock.hpp"
#include "wallheat/error.hpp"

// What is decided about a device on the host, without one.

namespace wallheat::gpu {
namespace {

/// A device that is done after so many seconds, and a clock that only sleeping moves.
struct SlowDevice {
  double done_s = 0;
  double now_s = 0;
  std::vector<double> pauses{};
  void wait() {
    await_work([this] { return now_s >= done_s; },
               [this](double seconds) {
                 now_s += seconds;
                 pauses.push_back(seconds);
               },
               "the kernel of the test");
  }
};

TEST(AwaitWork, does_not_sleep_where_the_work_is_done) {
  SlowDevice device;
  device.wait();
  EXPECT_TRUE(device.pauses.empty());
}

TEST(AwaitWork, neither_spins_nor_oversleeps) {
  for (const double done_s : {1e-4, 1e-3, 1e-2, 1.0, 29.0}) {
    SlowDevice device{done_s};
    device.wait();
    EXPECT_LE(device.now_s, done_s * 9 / 8 + 50e-6) << done_s;
    EXPECT_LE(device.now_s, done_s + 1e-3 + 1e-9) << done_s;
    EXPECT_GE(std::ranges::min(device.pauses), 50e-6);
    EXPECT_LE(static_cast<double>(device.pauses.size()), 40 + done_s / 1e-3) << done_s;
  }
}

TEST(AwaitWork, takes_half_a_minute_of_silence_for_a_fault_of_the_device) {
  SlowDevice device{1e9};
  try {
    device.wait();
    FAIL() << "it waited for ever";
  } catch (const DeviceSilent& silent) {
    EXPECT_STREQ(silent.what(), "the GPU has not answered for 30 s at the kernel of the test");
  }
  EXPECT_NEAR(device.now_s, 30, 0.01);
}

TEST(AwaitWork, passes_on_what_the_device_reports) {
  EXPECT_THROW(await_work([]() -> bool { throw DeviceFault("it failed"); }, [](double) {}, "it"),
               DeviceFault);
}

/// Seconds of one and of two plans by the grid kernel, and of two by streaming.
GridUse use_of(double alone_s, double together_s, double streamed_s) {
  return choose_grid_use([=](Kernel kernel, int plans) {
    return kernel == Kernel::streaming ? streamed_s : plans == 1 ? alone_s : together_s;
  });
}

TEST(GridUse, is_as_it_was_where_grids_run_side_by_side) {
  for (const double together_s : {1.0, 1.4}) {
    const GridUse use = use_of(1, together_s, 0.1);
    EXPECT_TRUE(use.grid);
    EXPECT_FALSE(use.one_plan);
    EXPECT_EQ(use.warning, "");
  }
}

TEST(GridUse, is_streaming_where_grids_wait_for_each_other_and_it_is_faster) {
  const GridUse use = use_of(1, 2, 0.8);
  EXPECT_FALSE(use.grid);
  EXPECT_FALSE(use.one_plan);
  EXPECT_EQ(use.warning,
            "this GPU runs cooperative grids one after the other (two took 2.0 times as long as "
            "one); plans are streamed instead, which takes 2.5 times less");
}

TEST(GridUse, is_one_plan_at_a_time_where_streaming_is_slower) {
  const GridUse use = use_of(1, 1.9, 3);
  EXPECT_TRUE(use.grid);
  EXPECT_TRUE(use.one_plan);
  EXPECT_THAT(use.warning, testing::HasSubstr("it gets one plan at a time"));
}

/// Both of two wait for each other in each solve.
class Meeting final : public Solver {
 public:
  explicit Meeting(std::barrier<>& together) : together_(together) {}
  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                const SolveControl&) override {
    together_.arrive_and_wait();
    return Solution{plan.domain, limits.max_iterations, 0, false};
  }

 private:
  std::barrier<>& together_;
};

TEST(GridUse, is_measured_with_plans_that_are_solved_at_once) {
  std::barrier together(2);
  int solvers = 0;
  EXPECT_GE(time_probe(
                [&] {
                  ++solvers;
                  return std::make_unique<Meeting>(together);
                },
                2),
            0);
  EXPECT_EQ(solvers, 2);
}

TEST(StepClock, times_each_stretch_by_the_marks_around_it) {
  StepClock clock;
  std::vector<std::size_t> marks;
  const StepClock::Record record = [&](std::size_t mark) { marks.push_back(mark); };
  const StepClock::Between seconds = [](std::size_t from, std::size_t to) {
    EXPECT_EQ(to, from + 1);
    return static_cast<double>(to);
  };
  clock.begin_copy(record);
  clock.begin_copy(record);
  clock.begin_launch(record);
  clock.begin_launch(record);
  clock.end(record);
  EXPECT_THAT(marks, testing::ElementsAre(0, 1, 2)) << "one for a stretch";
  EXPECT_EQ(clock.add_up(seconds), 2);
  clock.end(record);
  EXPECT_EQ(marks.size(), 3U) << "there was nothing to wait for";
  clock.begin_copy(record);  // what comes after a launch comes down
  clock.end(record);
  EXPECT_EQ(clock.add_up(seconds), 0);
  const DeviceTimes times = clock.take();
  EXPECT_EQ(times.upload_s, 1);
  EXPECT_EQ(times.kernel_s, 2);
  EXPECT_EQ(times.download_s, 1);
  clock.begin_copy(record);  // of the next plan
  clock.end(record);
  (void)clock.add_up(seconds);
  EXPECT_EQ(clock.take().upload_s, 1);
}

TEST(Driver, is_told_of_where_it_is_too_old) {
  EXPECT_EQ(why_driver_is_too_old(12040, 13000),
            "the driver is for CUDA 12.4, but this wallheat was built with CUDA 13.0, which needs "
            "driver R580 or newer: update the driver, or build wallheat with CUDA 12");
  EXPECT_THAT(why_driver_is_too_old(11080, 12060),
              testing::HasSubstr("needs driver R525 or newer"));
  EXPECT_THAT(why_driver_is_too_old(13010, 14000),
              testing::HasSubstr("needs driver for CUDA 14 or newer"));
  EXPECT_EQ(why_driver_is_too_old(12000, 12090), "") << "of the same major version";
  EXPECT_EQ(why_driver_is_too_old(13000, 12060), "");
}

}  // namespace
}  // namespace wallheat::gpu
