#include "support/matchers.hpp"
#include "view/node_text.hpp"

namespace wallheat {
namespace {

const std::vector<NvmlGpu> gpus{{0, "GPU-a", "A"}, {3, "GPU-b", "B"}};

NodeSample sample_of_two_gpus() {
  NodeSample sample;
  sample.seconds = 2.5;
  sample.cpu.busy_pct = 62.5;
  sample.cpu.memory_used_bytes = 3 << 20;
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

TEST(NodeColumns, have_units) {
  const NodeColumns columns(gpus);
  for (const std::string& name : columns.names()) EXPECT_NE(unit_of_column(name), "") << name;
  EXPECT_EQ(unit_of_column("gpu12_fb"), "MiB");
  EXPECT_EQ(unit_of_column("gpuUtil"), "%");
  EXPECT_EQ(unit_of_column("cpux"), "");
}

}  // namespace
}  // namespace wallheat
