#include <cmath>
#include <fstream>

#include "node/node_telemetry.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

const char* const no_driver = "libno-such-driver.so.1";

TEST(NodeTelemetry, tells_how_busy_the_cpus_were_between_two_looks) {
  const TemporaryDirectory proc;
  EXPECT_THROW(NodeTelemetry(0, no_driver, proc.path()), RunError);
  std::ofstream(proc / "stat") << "nonsense\n";
  EXPECT_THROW(NodeTelemetry(0, no_driver, proc.path()), RunError);
  std::ofstream(proc / "stat") << "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n";
  std::ofstream(proc / "meminfo") << "MemTotal:  3000 kB\nMemFree: 5 kB\nMemAvailable: 1000 kB\n";
  NodeTelemetry node(0, no_driver, proc.path());
  EXPECT_THAT(node.take_problems(), ElementsAre(HasSubstr("no GPUs: NVML is not there")));
  // 125 ticks of work, 50 idle, 25 waiting for a disk.
  std::ofstream(proc / "stat") << "cpu  200 5 110 850 25 5 5 0 0 0\n";
  const NodeSample sample = node.sample(1);
  EXPECT_DOUBLE_EQ(sample.cpu_busy_pct, 62.5);
  EXPECT_EQ(sample.memory_used_bytes, 2000 * 1024);
  EXPECT_THAT(sample.gpus, IsEmpty());
  EXPECT_TRUE(std::isnan(node.sample(2).cpu_busy_pct)) << "the clock has not ticked";
}

TEST(NodeTelemetry, goes_on_when_a_gpu_is_lost) {
  NodeTelemetry node(5, WALLHEAT_FAKE_NVML);
  ASSERT_EQ(node.gpus().size(), 3U);
  const NodeSample sample = node.sample(7);
  EXPECT_EQ(sample.seconds, 2);
  EXPECT_GT(sample.memory_used_bytes, 0);
  EXPECT_EQ(sample.gpus.at(0).utilisation_pct, 97);
  EXPECT_GT(sample.gpus.at(0).energy_j, 0);
  EXPECT_EQ(sample.gpus.at(1).power_w, 200);
  EXPECT_TRUE(std::isnan(sample.gpus.at(2).power_w));
  EXPECT_THAT(node.take_problems(), ElementsAre(HasSubstr("readings of GPU 2")));
  EXPECT_EQ(node.sample(8).gpus.at(0).utilisation_pct, 97);
  EXPECT_THAT(node.take_problems(), IsEmpty());
}

}  // namespace
}  // namespace wallheat
