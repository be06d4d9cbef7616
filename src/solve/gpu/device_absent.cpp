#include "solve/gpu/device.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

GpuSupport gpu_support() {
  return {.gpus = {}, .reason = "this wallheat was built without CUDA", .built_with_cuda = false};
}

GpuProperties gpu_properties(int) { return {}; }

std::string gpu_driver() { return {}; }

std::shared_ptr<GpuDevice> open_gpu(int, const std::function<void(const std::string&)>&) {
  throw RunError("no GPU to open: " + gpu_support().reason);
}

}  // namespace wallheat
