#include <cstdlib>

#include "solve/gpu/device.hpp"

namespace wallheat {

void use_all_gpu_queues() { (void)::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

}  // namespace wallheat
