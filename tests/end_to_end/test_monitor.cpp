// wallheat monitor: live with a fake driver, and of recordings.
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/shell_test.hpp"

namespace wallheat {
namespace {

class MonitorCommandTest : public ShellTest {
 protected:
  MonitorCommandTest() {
    std::filesystem::create_symlink(WALLHEAT_FAKE_NVML, directory_ / "libnvidia-ml.so.1");
  }
  Finished monitor(const std::string& more) const {
    return shell("LD_LIBRARY_PATH=$PWD:$LD_LIBRARY_PATH wallheat monitor --interval 0.01 " + more);
  }
  /// Returns the JSON objects of the samples, one per line, and of the summary.
  static std::vector<nlohmann::json> objects_in(const std::string& out) {
    std::istringstream stream(out);
    std::vector<nlohmann::json> objects;
    while (stream >> std::ws && !stream.eof()) stream >> objects.emplace_back();
    return objects;
  }
};

TEST_F(MonitorCommandTest, PrintsSamplesBeforeSummary) {
  const Finished shown = monitor("--samples 3");
  EXPECT_THAT(shown.out, AllOf(StartsWith("#     s  cpu      ram"),
                               HasSubstr("    0   512    61    74   97   40    3    5  2619  1980"),
                               HasSubstr("gpu0_sm")));
  EXPECT_THAT(lines_of(shown.out), Contains(Mentions({"gpu0_sm", "%", "3"}))) << "the summary";
  EXPECT_THAT(shown.err, Mentions({"GPU 2", "NVML"}));
  const auto objects = objects_in(monitor("--samples 2 --json").out);
  ASSERT_EQ(objects.size(), 3U) << "one per line, then the summary";
  EXPECT_EQ(objects[0]["gpu0_pclk"], 1980);
  EXPECT_EQ(objects[0]["gpu1_sm"], nullptr);
  EXPECT_LT(objects[0]["seconds"], objects[1]["seconds"]);
  EXPECT_EQ(objects[2]["summary"][0]["name"], "cpu");
}

TEST_F(MonitorCommandTest, ReadsRecordingThatItWrote) {
  const auto rows = [&] { return shell("wc -l < m.csv").out; };
  monitor("--samples 4 --csv m.csv");
  EXPECT_THAT(bytes("m.csv"), StartsWith("time,seconds,cpu,ram,gpu0_pwr,"));
  EXPECT_EQ(rows(), "5\n");
  EXPECT_THAT(shell("wallheat monitor m.csv --plot m.svg").out, Mentions("512.5"));
  EXPECT_THAT(bytes("m.svg"), Mentions("gpu0_pwr"));
  expect_error("monitor --samples 1 --csv m.csv", 1, {"m.csv", "--overwrite"});
  EXPECT_THAT(lines_of(shell("wallheat monitor --samples 1 -i 0.01 --csv /dev/full", 1).err),
              Contains(AllOf(StartsWith("wallheat: "), Mentions("/dev/full"))));
  monitor("--samples 1 --csv m.csv --overwrite");
  EXPECT_EQ(rows(), "2\n");
  EXPECT_THAT(shell("wallheat monitor '" WALLHEAT_TEST_DATA "/gpu_util.txt' --json").out,
              HasSubstr(R"("samples": 31)"));
}

TEST_F(MonitorCommandTest, ListsProcessesOfGpus) {
  EXPECT_THAT(monitor("--samples 1 --processes").out,
              HasSubstr("  gpu       pid   sm  mem  enc  dec      fb  command\n"
                        "    0         9    4    0    3    5       -  -\n"
                        "    0      4711    -    -    -    -       -  -\n"
                        "    0      4712   97   40    0    0    2861  wallheat\n"));
  const auto objects = objects_in(monitor("--samples 1 --processes --json").out);
  ASSERT_EQ(objects.size(), 3U);
  EXPECT_EQ(objects[1]["processes"][2]["command"], "wallheat");
  EXPECT_EQ(objects[1]["processes"][1]["sm"], nullptr);
}

TEST_F(MonitorCommandTest, PrintsSummaryAfterInterruptOrTermination) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process({WALLHEAT_PROGRAM, "monitor", "--interval", "0.01"});
    wait_until("a sample", [&] {
      const std::string out = process.out();
      return std::count(out.begin(), out.end(), '\n') > 3;
    });
    process.signal(signal);
    EXPECT_EQ(process.wait(), 0);
    EXPECT_THAT(lines_of(process.out()), Contains(Mentions({"cpu", "%"}))) << "the summary";
  }
  Process idle({WALLHEAT_PROGRAM, "monitor", "--interval", "1h", "--csv", path("m.csv")});
  wait_until("its file", [&] { return exists("m.csv"); });
  idle.signal(SIGTERM);
  EXPECT_EQ(idle.wait(), 0);
  EXPECT_THAT(lines_of(idle.out()), ElementsAre(Mentions("sample")));
}

}  // namespace
}  // namespace wallheat
