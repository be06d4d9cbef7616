#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "node/gpu_telemetry.hpp"
#include "node/node_telemetry.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using namespace std::chrono_literals;

const std::string driver = WALLHEAT_FAKE_NVML;
const std::string old_driver = WALLHEAT_FAKE_OLD_NVML;
const std::string no_driver = "libno-such-driver.so.1";

std::string error_message(const std::string& uuid, const std::string& library) {
  return error_message_of<RunError>([&] { (void)GpuTelemetry(uuid, library); });
}

TEST(GpuTelemetry, ReadsAllAvailableReadings) {
  const GpuSample sample = GpuTelemetry("GPU-good", driver).sample();
  for (const auto& [reading, expected] : {std::pair(sample.utilisation_pct, 97.0),
                                          {sample.memory_used_bytes, 3e9},
                                          {sample.memory_total_bytes, 150e9},
                                          {sample.power_w, 512.5},
                                          {sample.temperature_c, 61},
                                          {sample.memory_utilisation_pct, 40},
                                          {sample.encoder_pct, 3},
                                          {sample.decoder_pct, 5},
                                          {sample.memory_temperature_c, 74},
                                          {sample.sm_clock_mhz, 1980},
                                          {sample.memory_clock_mhz, 2619}})
    EXPECT_EQ(reading, expected);
  const GpuSample little = GpuTelemetry("GPU-silent", driver).sample();
  EXPECT_EQ(little.power_w, 200);
  for (const double reading :
       {little.utilisation_pct, little.memory_used_bytes, little.sm_clock_mhz})
    EXPECT_TRUE(std::isnan(reading));
}

TEST(GpuTelemetry, IntegratesPowerToEnergyWithOldDriver) {
  GpuTelemetry gpu("GPU-good", old_driver);
  using Clock = std::chrono::steady_clock;
  const auto joule_since = [](Clock::time_point start) {
    return 512.5 * std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto before_first = Clock::now();
  const GpuSample first = gpu.sample();
  const auto after_first = Clock::now();
  EXPECT_EQ(first.utilisation_pct, 97);
  EXPECT_TRUE(std::isnan(first.memory_temperature_c));
  EXPECT_EQ(first.energy_j, 0);
  for (int sample = 0; sample < 1000; ++sample) (void)gpu.sample();
  const double min_j = joule_since(after_first);
  const double energy_j = gpu.sample().energy_j;
  EXPECT_GT(energy_j, min_j);
  EXPECT_LT(energy_j, joule_since(before_first));
  EXPECT_TRUE(gpu.processes().empty());
}

TEST(GpuTelemetry, ListsProcessesOnGpu) {
  GpuTelemetry gpu("GPU-good", driver);
  const auto processes = gpu.processes();
  ASSERT_EQ(processes.size(), 3U);
  EXPECT_EQ(processes[0].pid, 9U);
  EXPECT_EQ(processes[0].sm_pct, 4);
  EXPECT_TRUE(std::isnan(processes[0].memory_bytes));
  EXPECT_EQ(processes[1].pid, 4711U);
  EXPECT_TRUE(std::isnan(processes[1].memory_bytes)) << "the driver does not report it";
  EXPECT_EQ(processes[1].name, "");
  EXPECT_EQ(processes[2].name, "wallheat");
  EXPECT_EQ(processes[2].sm_pct, 97) << "of the latest sample";
  EXPECT_EQ(processes[2].memory_bytes, 3e9);
  EXPECT_EQ(gpu.processes().size(), 3U) << "it was active again";
  const auto again = gpu.processes();
  ASSERT_EQ(again.size(), 2U) << "the third was idle since";
  EXPECT_TRUE(std::isnan(again[1].sm_pct));
}

TEST(GpuTelemetry, ReportsReasonWhenUnavailable) {
  EXPECT_THAT(error_message("GPU-good", no_driver), Mentions({"NVML", no_driver}));
  EXPECT_THAT(error_message("GPU-good", "libm.so.6"), Mentions("nvmlInit_v2"));
  EXPECT_THAT(error_message("GPU-slice", driver), Mentions({"GPU-slice", "Not Found", "MIG"}));
}

TEST(GpuSampler, ReturnsEachSampleOnce) {
  GpuSampler sampler(GpuTelemetry("GPU-good", driver), 1h);
  auto sample = sampler.take_latest();
  for (; !sample; sample = sampler.take_latest()) std::this_thread::yield();
  EXPECT_EQ(sample->utilisation_pct, 97);
  EXPECT_FALSE(sampler.take_latest());
}

TEST(GpuSampler, ReportsLostGpuOnce) {
  GpuSampler sampler(GpuTelemetry("GPU-failing", driver), 1ms);
  std::string reason = "(no error)";
  while (reason == "(no error)")
    reason = error_message_of<RunError>([&] { (void)sampler.take_latest(); });
  EXPECT_THAT(reason, Mentions("GPU is lost"));
  EXPECT_NO_THROW((void)sampler.take_latest());
}

TEST(NodeTelemetry, ComputesCpuUtilizationBetweenSamples) {
  const TemporaryDirectory proc;
  EXPECT_THROW(NodeTelemetry(0, no_driver, proc.path()), RunError);
  std::ofstream(proc / "stat") << "nonsense\n";
  EXPECT_THROW(NodeTelemetry(0, no_driver, proc.path()), RunError);
  std::ofstream(proc / "stat") << "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n";
  std::ofstream(proc / "meminfo") << "MemTotal:  3000 kB\nMemFree: 5 kB\nMemAvailable: 1000 kB\n";
  NodeTelemetry node(0, no_driver, proc.path());
  EXPECT_THAT(node.take_warnings(), ElementsAre(Mentions({"NVML", no_driver})));
  // 125 ticks of work, 50 idle, 25 waiting for a disk.
  std::ofstream(proc / "stat") << "cpu  200 5 110 850 25 5 5 0 0 0\n";
  const NodeSample sample = node.sample(1);
  EXPECT_DOUBLE_EQ(sample.cpu_busy_pct, 62.5);
  EXPECT_EQ(sample.memory_used_bytes, 2000 * 1024);
  EXPECT_THAT(sample.gpus, IsEmpty());
  EXPECT_TRUE(std::isnan(node.sample(2).cpu_busy_pct)) << "the clock has not ticked";
}

TEST(NodeTelemetry, ContinuesAfterOneGpuIsLost) {
  NodeTelemetry node(5, driver);
  ASSERT_EQ(node.gpus().size(), 3U);
  EXPECT_EQ(node.gpus()[2].index, 2U);
  EXPECT_EQ(node.gpus()[2].uuid, "GPU-failing");
  EXPECT_EQ(node.gpus()[2].name, "Fake GPU");
  const NodeSample sample = node.sample(7);
  EXPECT_EQ(sample.seconds, 2);
  EXPECT_GT(sample.memory_used_bytes, 0);
  EXPECT_EQ(sample.gpus.at(0).utilisation_pct, 97);
  EXPECT_GT(sample.gpus.at(0).energy_j, 0);
  EXPECT_EQ(sample.gpus.at(1).power_w, 200);
  EXPECT_TRUE(std::isnan(sample.gpus.at(2).power_w));
  EXPECT_THAT(node.take_warnings(), ElementsAre(Mentions("GPU 2")));
  EXPECT_EQ(node.sample(8).gpus.at(0).utilisation_pct, 97);
  EXPECT_THAT(node.take_warnings(), IsEmpty());
}

}  // namespace
}  // namespace wallheat
