#include "wallheat/gpu.hpp"

namespace wallheat {

GpuSupport gpu_support() {
  return {.gpus = {}, .can_solve = false, .reason = "this wallheat was built without CUDA"};
}

}  // namespace wallheat
