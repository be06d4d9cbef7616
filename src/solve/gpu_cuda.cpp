#include <cuda_runtime_api.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "wallheat/error.hpp"
#include "wallheat/gpu.hpp"

namespace wallheat {
namespace {

/// As nvidia-smi writes it: GPU-8 hex digits-4-4-4-12.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> byte{};
    std::snprintf(byte.data(), byte.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += byte.data();
  }
  return text;
}

/// Linux's answer to which NUMA node a PCI device hangs on: -1 where it has none or does not know.
int numa_of_pci_device(int domain, int bus, int device) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/sys/bus/pci/devices/%04x:%02x:%02x.0/numa_node",
                static_cast<unsigned>(domain), static_cast<unsigned>(bus),
                static_cast<unsigned>(device));
  int numa = -1;
  std::ifstream file(path.data());
  return file >> numa ? numa : -1;
}

/// Reads properties only: unlike most of CUDA's calls, that opens no context on the device.
std::optional<Gpu> describe(int ordinal) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) return std::nullopt;
  return Gpu{.ordinal = ordinal,
             .name = properties.name,
             .uuid = uuid_text(properties.uuid),
             .memory_bytes = properties.totalGlobalMem,
             .numa = numa_of_pci_device(properties.pciDomainID, properties.pciBusID,
                                        properties.pciDeviceID)};
}

}  // namespace

GpuSupport gpu_support() {
  GpuSupport support;
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess) {
    support.reason = std::string("CUDA found no GPU: ") + cudaGetErrorString(found);
    return support;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (std::optional<Gpu> gpu = describe(ordinal)) support.gpus.push_back(std::move(*gpu));
  }
  support.reason = support.gpus.empty() ? "CUDA found no GPU that answers"
                                        : "this version has no GPU solver yet";
  return support;
}

std::shared_ptr<GpuDevice> open_gpu(int) {
  throw RunError("there is no GPU to open: " + gpu_support().reason);
}

}  // namespace wallheat
