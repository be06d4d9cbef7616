#include <nlohmann/json.hpp>

#include "report/node_text.hpp"
#include "support/matchers.hpp"
#include "view/gpu_text.hpp"
#include "view/json.hpp"

namespace wallheat {
namespace {

const std::vector<NvmlGpu> gpus{{0, "GPU-a", "A"}, {3, "GPU-b", "B"}};

NodeSample sample_of_two_gpus() {
  NodeSample sample;
  sample.seconds = 2.5;
  sample.cpu_busy_pct = 62.5;
  sample.memory_used_bytes = 3 << 20;
  sample.gpus.resize(2);
  sample.gpus[0].power_w = 512.5;
  sample.gpus[1].utilisation_pct = 97;
  sample.gpus[1].memory_used_bytes = 5 << 20;
  return sample;
}

TEST(NodeColumns, are_those_of_the_node_and_each_gpu) {
  const NodeSample sample = sample_of_two_gpus();
  const NodeColumns columns(gpus);
  EXPECT_EQ(csv_head(columns),
            "time,seconds,cpu,ram,"
            "gpu0_pwr,gpu0_gtemp,gpu0_mtemp,gpu0_sm,gpu0_mem,gpu0_enc,gpu0_dec,gpu0_mclk,"
            "gpu0_pclk,gpu0_fb,gpu0_energy,"
            "gpu3_pwr,gpu3_gtemp,gpu3_mtemp,gpu3_sm,gpu3_mem,gpu3_enc,gpu3_dec,gpu3_mclk,"
            "gpu3_pclk,gpu3_fb,gpu3_energy");
  EXPECT_EQ(csv_row("T", columns.values(sample)), "T,2.5,62.5,3,512.5,,,,,,,,,,,,,,97,,,,,,5,");
  EXPECT_THAT(json_row("T", columns, columns.values(sample)),
              AllOf(StartsWith(R"({"time":"T","seconds":2.5,)"), HasSubstr(R"("gpu0_gtemp":null)"),
                    HasSubstr(R"("gpu3_sm":97.0)")));
}

/// Each reading has a value of its own.
GpuSample telling_sample() {
  return {.utilisation_pct = 97,
          .memory_utilisation_pct = 41,
          .encoder_pct = 3,
          .decoder_pct = 5,
          .memory_used_bytes = 7 << 20,
          .memory_total_bytes = 9 << 20,
          .power_w = 512,
          .temperature_c = 67,
          .memory_temperature_c = 74,
          .sm_clock_mhz = 1980,
          .memory_clock_mhz = 2619,
          .energy_j = 11};
}

TEST(NodeColumns, show_each_reading_under_its_name_of_nvidia_smi_dmon) {
  NodeSample sample;
  sample.seconds = 1;
  sample.gpus = {telling_sample()};
  const std::vector<NvmlGpu> one{{0, "GPU-a", "A"}};
  const NodeColumns columns(one);
  EXPECT_EQ(csv_row("T", columns.values(sample)), "T,1,,,512,67,74,97,41,3,5,2619,1980,7,11");
  const auto heading = node_heading(true);
  EXPECT_THAT(heading[0],
              HasSubstr("  gpu   pwr gtemp mtemp   sm  mem  enc  dec  mclk  pclk      fb"));
  EXPECT_THAT(heading[1],
              HasSubstr("  Idx     W     C     C    %    %    %    %   MHz   MHz     MiB"));
  EXPECT_THAT(node_lines(sample, one).at(0),
              HasSubstr("    0   512    67    74   97   41    3    5  2619  1980       7"));
}

TEST(GpuSample, has_its_readings_in_json_under_their_names) {
  const Json json = to_json(telling_sample());
  EXPECT_EQ(json, (Json{{"power_w", 512.0},
                        {"temperature_c", 67.0},
                        {"memory_temperature_c", 74.0},
                        {"utilisation_pct", 97.0},
                        {"memory_utilisation_pct", 41.0},
                        {"encoder_pct", 3.0},
                        {"decoder_pct", 5.0},
                        {"memory_clock_mhz", 2619.0},
                        {"sm_clock_mhz", 1980.0},
                        {"memory_used_bytes", 7.0 * (1 << 20)},
                        {"energy_j", 11.0},
                        {"memory_total_bytes", 9.0 * (1 << 20)}}));
  EXPECT_EQ(to_json(GpuSample{}), Json::object()) << "what is not known is left out";
}

TEST(KernelTimes, are_plans_total_mean_least_and_largest_of_each_kernel) {
  KernelTimes times;
  EXPECT_THAT(times.table(), IsEmpty());
  for (const double seconds : {0.004, 0.001, 0.007})
    times.add({.upload_s = 9, .kernel_s = seconds, .kernel = "cluster"});
  times.add({.kernel_s = 1.5, .kernel = "streaming"});
  EXPECT_THAT(times.table(),
              ElementsAre("kernel         plans    total s   mean ms  least ms  largest ms",
                          "cluster            3      0.012     4.000     1.000       7.000",
                          "streaming          1      1.500  1500.000  1500.000    1500.000"));
}

TEST(NodeColumns, have_units) {
  const NodeColumns columns(gpus);
  for (const std::string& name : columns.names()) EXPECT_NE(unit_of_column(name), "") << name;
  EXPECT_EQ(unit_of_column("gpu12_fb"), "MiB");
  EXPECT_EQ(unit_of_column("gpuUtil"), "%");
  EXPECT_EQ(unit_of_column("cpux"), "");
}

}  // namespace
}  // namespace wallheat
