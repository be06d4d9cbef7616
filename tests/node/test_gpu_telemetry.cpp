#include <chrono>
#include <cmath>
#include <thread>

#include "node/gpu_telemetry.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using namespace std::chrono_literals;

const std::string driver = WALLHEAT_FAKE_NVML;
const std::string old_driver = WALLHEAT_FAKE_OLD_NVML;

std::string refusal(const std::string& uuid, const std::string& library) {
  return refusal_of<RunError>([&] { (void)GpuTelemetry(uuid, library); });
}

TEST(GpuTelemetry, reads_all_that_a_gpu_tells) {
  GpuTelemetry gpu("GPU-good", driver);
  const GpuSample first = gpu.sample();
  EXPECT_EQ(first.utilisation_pct, 97);
  EXPECT_EQ(first.memory_used_bytes, 3e9);
  EXPECT_EQ(first.memory_total_bytes, 150e9);
  EXPECT_EQ(first.power_w, 512.5);
  EXPECT_EQ(first.temperature_c, 61);
  EXPECT_EQ(first.memory_utilisation_pct, 40);
  EXPECT_EQ(first.encoder_pct, 3);
  EXPECT_EQ(first.decoder_pct, 5);
  EXPECT_EQ(first.memory_temperature_c, 74);
  EXPECT_EQ(first.sm_clock_mhz, 1980);
  EXPECT_EQ(first.memory_clock_mhz, 2619);
}

TEST(GpuTelemetry, of_an_older_driver_lacks_some_readings_and_integrates_the_power_to_energy) {
  GpuTelemetry gpu("GPU-good", old_driver);
  const auto start = std::chrono::steady_clock::now();
  const GpuSample first = gpu.sample();
  EXPECT_EQ(first.utilisation_pct, 97);
  EXPECT_TRUE(std::isnan(first.memory_temperature_c));
  EXPECT_EQ(first.energy_j, 0);
  const double energy_j = gpu.sample().energy_j;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  EXPECT_GT(energy_j, 0);
  EXPECT_LE(energy_j, 512.5 * passed.count());
}

TEST(GpuTelemetry, says_what_little_an_unsupported_gpu_tells) {
  const GpuSample sample = GpuTelemetry("GPU-silent", driver).sample();
  EXPECT_EQ(sample.power_w, 200);
  EXPECT_TRUE(std::isnan(sample.utilisation_pct));
  EXPECT_TRUE(std::isnan(sample.memory_used_bytes));
  EXPECT_TRUE(std::isnan(sample.sm_clock_mhz));
}

TEST(GpuTelemetry, tells_who_uses_a_gpu) {
  GpuTelemetry gpu("GPU-good", driver);
  const auto processes = gpu.processes();
  ASSERT_EQ(processes.size(), 3U);
  EXPECT_EQ(processes[0].pid, 9U);
  EXPECT_EQ(processes[0].sm_pct, 4);
  EXPECT_EQ(processes[0].decoder_pct, 5);
  EXPECT_TRUE(std::isnan(processes[0].memory_bytes));
  EXPECT_EQ(processes[1].pid, 4711U);
  EXPECT_TRUE(std::isnan(processes[1].memory_bytes)) << "the driver does not know";
  EXPECT_EQ(processes[1].name, "");
  EXPECT_EQ(processes[2].name, "wallheat");
  EXPECT_EQ(processes[2].sm_pct, 97) << "of the latest sample";
  EXPECT_EQ(processes[2].memory_pct, 40);
  EXPECT_EQ(processes[2].memory_bytes, 3e9);
  EXPECT_EQ(gpu.processes().size(), 3U) << "it was at work again";
  const auto again = gpu.processes();
  ASSERT_EQ(again.size(), 2U) << "the third has done nothing since";
  EXPECT_TRUE(std::isnan(again[1].sm_pct));
  EXPECT_TRUE(GpuTelemetry("GPU-good", old_driver).processes().empty());
}

TEST(GpuTelemetry, finds_all_gpus_of_a_node) {
  const std::vector<NvmlGpu> gpus = nvml_gpus(driver);
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[2].index, 2U);
  EXPECT_EQ(gpus[2].uuid, "GPU-failing");
  EXPECT_EQ(gpus[2].name, "Fake GPU");
  EXPECT_THROW((void)nvml_gpus("libno-such-driver.so.1"), RunError);
}

TEST(GpuTelemetry, says_why_there_is_none) {
  EXPECT_THAT(refusal("GPU-good", "libno-such-driver.so.1"),
              AllOf(HasSubstr("NVML is not there"), HasSubstr("libno-such-driver.so.1")));
  EXPECT_THAT(refusal("GPU-good", "libm.so.6"), HasSubstr("lacks nvmlInit_v2"));
  EXPECT_THAT(refusal("GPU-slice", driver),
              AllOf(HasSubstr("GPU-slice"), HasSubstr("Not Found"), HasSubstr("MIG")));
}

std::optional<GpuSample> next_sample(GpuSampler& sampler) {
  for (;;) {
    if (auto sample = sampler.take()) return sample;
    std::this_thread::yield();
  }
}

TEST(GpuSampler, gives_each_sample_once) {
  GpuSampler sampler(GpuTelemetry("GPU-good", driver), 1h);
  EXPECT_EQ(next_sample(sampler)->utilisation_pct, 97);
  EXPECT_FALSE(sampler.take());
}

TEST(GpuSampler, says_once_that_a_gpu_is_lost) {
  GpuSampler sampler(GpuTelemetry("GPU-failing", driver), 1ms);
  std::string reason;
  while (reason.empty()) {
    try {
      (void)sampler.take();
    } catch (const RunError& error) {
      reason = error.what();
    }
    std::this_thread::yield();
  }
  EXPECT_THAT(reason, HasSubstr("GPU is lost"));
  EXPECT_NO_THROW((void)sampler.take());
}

}  // namespace
}  // namespace wallheat
