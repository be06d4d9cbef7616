#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solve/gpu/device.hpp"
#include "solve/gpu/kernels.hpp"
#include "solve/gpu/solver.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Formats a UUID like nvidia-smi: "GPU-", and then groups of 8, 4, 4, 4 and 12 hexadecimal digits,
/// separated by hyphens.
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

/// Returns the NUMA node of a PCI device, as reported by Linux; -1 if it has none or is unknown.
int numa_of_pci_device(int domain, int bus, int device) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/sys/bus/pci/devices/%04x:%02x:%02x.0/numa_node",
                static_cast<unsigned>(domain), static_cast<unsigned>(bus),
                static_cast<unsigned>(device));
  int numa = -1;
  std::ifstream file(path.data());
  return file >> numa ? numa : -1;
}

/// A GPU, or the reason why it cannot be used.
struct Description {
  std::optional<Gpu> gpu;
  std::string reason;
};

/// Reads only properties, which, unlike most CUDA calls, does not create a context on the device.
Description describe(int ordinal) {
  cudaDeviceProp properties{};
  const cudaError_t status = cudaGetDeviceProperties(&properties, ordinal);
  if (status != cudaSuccess)
    return {{}, "GPU " + std::to_string(ordinal) + ": " + cudaGetErrorString(status)};
  const int capability = properties.major * 10 + properties.minor;
  if (const int oldest = gpu::min_compute_capability(); capability < oldest)
    return {{},
            std::string(properties.name) + " has compute capability " +
                std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                ", but this wallheat was built for " + std::to_string(oldest / 10) + "." +
                std::to_string(oldest % 10) + " and newer"};
  int mode = cudaComputeModeDefault;
  if (cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, ordinal) == cudaSuccess &&
      mode == cudaComputeModeProhibited)
    return {{}, std::string(properties.name) + " does not accept work (compute mode 'prohibited')"};
  return {Gpu{.ordinal = ordinal,
              .name = properties.name,
              .uuid = uuid_text(properties.uuid),
              .memory_bytes = properties.totalGlobalMem,
              .numa = numa_of_pci_device(properties.pciDomainID, properties.pciBusID,
                                         properties.pciDeviceID)},
          ""};
}

class CudaDevice final : public gpu::DeviceWithKernels {
 public:
  CudaDevice(int ordinal, const std::function<void(const std::string&)>& warn) : ordinal_(ordinal) {
    // CUDA needs some tenths of a second to initialize a device. Meanwhile, a thread solves the
    // plans with which the kernels are verified.
    std::future<std::vector<gpu::KnownPlan>> known_plans =
        std::async(std::launch::async, gpu::solve_known_plans);
    // Threads that wait for the GPU block, so that their cores are free for threads that read plans
    // and store results.
    gpu::check(cudaInitDevice(ordinal, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid),
               "initializing");
    gpu::check(cudaSetDevice(ordinal), "initializing");
    capacity_ = gpu::prepare_kernels();
    proven_ = gpu::select_verified_kernel(
        known_plans.get(), [this](gpu::Kernel kernel) { return make_solver(kernel); }, warn);
  }

  [[nodiscard]] bool has_clusters() const override { return capacity_.max_cluster_blocks > 0; }
  [[nodiscard]] std::unique_ptr<GpuSolver> make_solver() override { return make_solver(proven_); }
  [[nodiscard]] std::unique_ptr<GpuSolver> make_solver(gpu::Kernel kernel) override {
    return gpu::make_gpu_solver(gpu::make_cuda_stream(ordinal_, capacity_, shared_), kernel);
  }
  [[nodiscard]] std::size_t plans_at_once() const override {
    return max_plans_in_flight(capacity_.multiprocessors, gpu_queues());
  }

 private:
  int ordinal_;
  gpu::DeviceCapacity capacity_;
  std::shared_ptr<gpu::DeviceState> shared_ = std::make_shared<gpu::DeviceState>();
  gpu::Kernel proven_ = gpu::Kernel::streaming;
};

std::string version_text(int version) {  // 12040 for 12.4
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Returns the reason why CUDA found no GPU. Checks first whether a driver exists, because without
/// a driver CUDA reports that the driver is too old.
std::string why_none(cudaError_t found) {
  const std::string driver = gpu_driver();
  if (found == cudaErrorNoDevice || driver.empty()) return "no GPU found";
  return std::string("CUDA found no usable GPU: ") + cudaGetErrorString(found) +
         " (the driver is for CUDA " + driver + ", this wallheat was built with CUDA " +
         version_text(CUDART_VERSION) + ")";
}

}  // namespace

GpuSupport gpu_support() {
  GpuSupport support;
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess) {
    support.reason = why_none(found);
    return support;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Description description = describe(ordinal);
    if (description.gpu) {
      support.gpus.push_back(std::move(*description.gpu));
    } else {
      support.reason = std::move(description.reason);
    }
  }
  if (!support.gpus.empty()) support.reason.clear();
  return support;
}

GpuProperties gpu_properties(int ordinal) {
  const auto attribute = [ordinal](cudaDeviceAttr name) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, name, ordinal) == cudaSuccess ? value : 0;
  };
  GpuProperties properties;
  properties.capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                          attribute(cudaDevAttrComputeCapabilityMinor);
  properties.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  properties.clock_hz = 1e3 * attribute(cudaDevAttrClockRate);
  constexpr double transfers_per_cycle = 2;  // double data rate
  properties.memory_bytes_per_second = transfers_per_cycle * 1e3 *
                                       attribute(cudaDevAttrMemoryClockRate) *
                                       attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
  return properties;
}

std::string gpu_driver() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return {};
  return version_text(version);
}

std::shared_ptr<GpuDevice> open_gpu(int ordinal,
                                    const std::function<void(const std::string&)>& warn) {
  const GpuSupport support = gpu_support();
  const bool is_usable = std::any_of(support.gpus.begin(), support.gpus.end(),
                                     [&](const Gpu& gpu) { return gpu.ordinal == ordinal; });
  if (!is_usable)
    throw RunError("GPU " + std::to_string(ordinal) + " not found" +
                   (support.reason.empty() ? "" : ": " + support.reason));
  return std::make_shared<CudaDevice>(ordinal, warn);
}

}  // namespace wallheat
