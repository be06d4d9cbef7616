#include "node/driver_gpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

std::vector<Gpu> select_visible_gpus(const std::vector<NvmlGpu>& gpus, const char* visible,
                                     bool is_pci_order) {
  std::vector<Gpu> selected;
  const auto add = [&](const std::string& name, const std::string& uuid) {
    selected.push_back({.ordinal = static_cast<int>(selected.size()), .name = name, .uuid = uuid});
  };
  if (visible == nullptr) {
    for (const NvmlGpu& gpu : gpus) add(gpu.name, gpu.uuid);
    return selected;
  }
  const bool are_equal =
      std::ranges::all_of(gpus, [&](const NvmlGpu& gpu) { return gpu.name == gpus.front().name; });
  for (const std::string_view entry : split(visible, ',')) {
    if (entry.starts_with("MIG-")) {
      add("slice", std::string(entry));
      continue;
    }
    const auto number = parse_number<std::ptrdiff_t>(entry);
    const auto found = std::ranges::find_if(gpus, [&](const NvmlGpu& gpu) {
      return number ? &gpu - gpus.data() == *number
                    : entry.size() > 4 && gpu.uuid.starts_with(entry);
    });
    if (found == gpus.end()) break;
    if (number && !are_equal && !is_pci_order)
      throw RunError(
          "CUDA_VISIBLE_DEVICES has numbers, and the GPUs of this host differ, so that CUDA may "
          "number "
          "them in another order; set CUDA_DEVICE_ORDER=PCI_BUS_ID, or use UUIDs (nvidia-smi -L)");
    add(found->name, found->uuid);
  }
  return selected;
}

GpuSupport driver_gpus() {
  const char* const order = std::getenv("CUDA_DEVICE_ORDER");
  std::vector<NvmlGpu> all;
  try {
    all = nvml_gpus();
  } catch (const RunError& error) {
    return {.gpus = {}, .reason = error.what()};
  }
  GpuSupport support{
      .gpus = select_visible_gpus(all, std::getenv("CUDA_VISIBLE_DEVICES"),
                                  order != nullptr && std::string_view(order) == "PCI_BUS_ID")};
  if (support.gpus.empty())
    support.reason = all.empty() ? "the driver has no GPU" : "CUDA_VISIBLE_DEVICES hides all GPUs";
  return support;
}

}  // namespace wallheat
