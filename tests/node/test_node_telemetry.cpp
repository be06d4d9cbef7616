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
  void cpus(const std::string& all, const std::string& first, const std::string& second) const {
    write("proc/stat", "cpu  " + all + "\ncpu0 " + first + "\ncpu7 " + second + "\nintr 5\n");
  }
  void socket(int number, const std::string& name, long energy_uj) const {
    const std::string zone = "sys/class/powercap/intel-rapl:" + std::to_string(number) + "/";
    write(zone + "name", name + "\n");
    write(zone + "energy_uj", std::to_string(energy_uj) + "\n");
    write(zone + "max_energy_range_uj", "1000000000\n");
  }
  [[nodiscard]] const std::filesystem::path& root() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

TEST(CpuTelemetry, tells_how_busy_the_cpus_were_between_two_looks) {
  const System system;
  system.cpus("100 0 100 800 0 0 0 0 0 0", "50 0 50 400 0 0 0 0 0 0", "50 0 50 400 0 0 0 0 0 0");
  system.write("proc/meminfo", "MemTotal:  3000 kB\nMemFree: 5 kB\nMemAvailable: 1000 kB\n");
  CpuTelemetry telemetry(10, system.root());
  // cpu 0: 100 ticks of work; cpu 7: 25 of work, 50 idle, 25 waiting for a disk.
  system.cpus("200 5 110 850 25 5 5 0 0 0", "130 5 55 400 0 5 5 0 0 0", "70 0 55 450 25 0 0 0 0 0");
  const CpuSample sample = telemetry.sample(11);
  EXPECT_DOUBLE_EQ(sample.busy_pct, 62.5);
  EXPECT_EQ(sample.cpu_pct, (std::map<int, double>{{0, 100.0}, {7, 25.0}}));
  EXPECT_EQ(sample.memory_used_bytes, 2000 * 1024);
  EXPECT_TRUE(std::isnan(telemetry.sample(12).busy_pct));  // the clock has not ticked
}

TEST(CpuTelemetry, adds_up_the_energy_of_the_sockets_whose_counters_begin_again) {
  const System system;
  system.cpus("1 0 0 0", "1 0 0 0", "1 0 0 0");
  system.socket(0, "package-0", 999000000);
  system.socket(1, "package-1", 5000000);
  system.socket(2, "psys", 7);
  system.socket(3, "dram", 7);
  CpuTelemetry telemetry(100, system.root());
  EXPECT_EQ(telemetry.no_energy(), "");
  system.socket(0, "package-0", 29000000);  // 30 J further
  system.socket(1, "package-1", 15000000);  // 10 J further
  const CpuSample sample = telemetry.sample(102);
  EXPECT_DOUBLE_EQ(sample.energy_j, 40);
  EXPECT_DOUBLE_EQ(sample.power_w, 20);
  system.socket(1, "package-1", 25000000);
  EXPECT_DOUBLE_EQ(telemetry.sample(103).energy_j, 50);
  std::filesystem::remove(system.root() / "sys/class/powercap/intel-rapl:1/energy_uj");
  EXPECT_TRUE(std::isnan(telemetry.sample(104).energy_j));
  EXPECT_THAT(telemetry.no_energy(), HasSubstr("any more"));
}

TEST(CpuTelemetry, says_why_there_is_no_energy) {
  const System system;
  system.cpus("1 0 0 0", "1 0 0 0", "1 0 0 0");
  EXPECT_THAT(CpuTelemetry(0, system.root()).no_energy(), HasSubstr("powercap has no counter"));
  system.socket(0, "package-0", 5);
  system.write("sys/class/powercap/intel-rapl:0/energy_uj", "");
  EXPECT_THAT(CpuTelemetry(0, system.root()).no_energy(), HasSubstr("energy_uj cannot be read"));
  EXPECT_TRUE(std::isnan(CpuTelemetry(0, system.root()).sample(1).power_w));
}

TEST(CpuTelemetry, needs_a_system_that_tells) {
  const System system;
  EXPECT_THROW(CpuTelemetry(0, system.root()), RunError);
  system.write("proc/stat", "nonsense\n");
  EXPECT_THROW(CpuTelemetry(0, system.root()), RunError);
}

TEST(NodeTelemetry, goes_on_when_a_gpu_is_lost) {
  NodeTelemetry node(5, WALLHEAT_FAKE_NVML);
  ASSERT_EQ(node.gpus().size(), 3U);
  (void)node.take_problems();  // this node may have no energy counter
  const NodeSample sample = node.sample(7);
  EXPECT_EQ(sample.seconds, 2);
  EXPECT_EQ(sample.gpus.at(0).utilisation_pct, 97);
  EXPECT_DOUBLE_EQ(sample.gpus.at(0).energy_j, 1.5);
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
  EXPECT_THAT(node.sample(2).cpu.cpu_pct, Not(IsEmpty()));
}

}  // namespace
}  // namespace wallheat
