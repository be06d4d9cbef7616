#include <cmath>
#include <fstream>

#include "node/node_telemetry.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// What Linux would tell of a node.
class System {
 public:
  System() { std::filesystem::create_directories(directory_ / "proc"); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  [[nodiscard]] const std::filesystem::path& root() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

TEST(CpuTelemetry, tells_how_busy_the_cpus_were_between_two_looks) {
  const System system;
  system.write("proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n");
  system.write("proc/meminfo", "MemTotal:  3000 kB\nMemFree: 5 kB\nMemAvailable: 1000 kB\n");
  CpuTelemetry telemetry(system.root());
  // 125 ticks of work, 50 idle, 25 waiting for a disk.
  system.write("proc/stat", "cpu  200 5 110 850 25 5 5 0 0 0\n");
  const CpuSample sample = telemetry.sample();
  EXPECT_DOUBLE_EQ(sample.busy_pct, 62.5);
  EXPECT_EQ(sample.memory_used_bytes, 2000 * 1024);
  EXPECT_TRUE(std::isnan(telemetry.sample().busy_pct)) << "the clock has not ticked";
}

TEST(CpuTelemetry, needs_a_system_that_tells) {
  const System system;
  EXPECT_THROW(CpuTelemetry{system.root()}, RunError);
  system.write("proc/stat", "nonsense\n");
  EXPECT_THROW(CpuTelemetry{system.root()}, RunError);
}

TEST(NodeTelemetry, goes_on_when_a_gpu_is_lost) {
  NodeTelemetry node(5, WALLHEAT_FAKE_NVML);
  ASSERT_EQ(node.gpus().size(), 3U);
  const NodeSample sample = node.sample(7);
  EXPECT_EQ(sample.seconds, 2);
  EXPECT_EQ(sample.gpus.at(0).utilisation_pct, 97);
  EXPECT_GT(sample.gpus.at(0).energy_j, 0);
  EXPECT_EQ(sample.gpus.at(1).power_w, 200);
  EXPECT_TRUE(std::isnan(sample.gpus.at(2).power_w));
  EXPECT_THAT(node.take_problems(), ElementsAre(HasSubstr("readings of GPU 2")));
  EXPECT_EQ(node.sample(8).gpus.at(0).utilisation_pct, 97);
  EXPECT_THAT(node.take_problems(), IsEmpty());
}

TEST(NodeTelemetry, watches_a_node_without_gpus) {
  NodeTelemetry node(0, "libno-such-driver.so.1");
  EXPECT_THAT(node.take_problems(), testing::Contains(HasSubstr("no GPUs: NVML is not there")));
  EXPECT_THAT(node.sample(1).gpus, IsEmpty());
  EXPECT_GT(node.sample(2).cpu.memory_used_bytes, 0);
}

}  // namespace
}  // namespace wallheat
