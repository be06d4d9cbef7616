#include "node/driver_gpus.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

const std::vector<NvmlGpu> equal_gpus{{0, "GPU-aa01", "H100"}, {1, "GPU-ab02", "H100"}};

std::vector<std::string> uuids(const char* visible, bool is_pci_order = false,
                               std::vector<NvmlGpu> gpus = equal_gpus) {
  std::vector<std::string> found;
  for (const Gpu& gpu : select_visible_gpus(gpus, visible, is_pci_order)) {
    EXPECT_EQ(static_cast<std::size_t>(gpu.ordinal), found.size());
    found.push_back(gpu.uuid);
  }
  return found;
}

TEST(DriverGpus, SelectsAsCudaDoes) {
  EXPECT_THAT(uuids(nullptr), ElementsAre("GPU-aa01", "GPU-ab02"));
  EXPECT_THAT(uuids("1,0"), ElementsAre("GPU-ab02", "GPU-aa01"));
  EXPECT_THAT(uuids("GPU-ab,GPU-aa01"), ElementsAre("GPU-ab02", "GPU-aa01"));
  EXPECT_THAT(uuids("MIG-77"), ElementsAre("MIG-77"));
  EXPECT_THAT(uuids(""), IsEmpty());
  for (const char* end_of_list : {"1,-1,0", "1,2,0", "1,GPU-,0", "1,none"})
    EXPECT_THAT(uuids(end_of_list), ElementsAre("GPU-ab02")) << end_of_list;
}

TEST(DriverGpus, RefusesNumbersWhenDifferentGpusMayHaveAnotherOrder) {
  const std::vector<NvmlGpu> mixed{{0, "GPU-aa01", "T4"}, {1, "GPU-ab02", "H100"}};
  EXPECT_THAT(error_message_of<RunError>([&] { (void)uuids("0", false, mixed); }),
              Mentions({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}));
  EXPECT_THAT(uuids("0", true, mixed), ElementsAre("GPU-aa01"));
  EXPECT_THAT(uuids("GPU-ab02", false, mixed), ElementsAre("GPU-ab02"));
}

}  // namespace
}  // namespace wallheat
