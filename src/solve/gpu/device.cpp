// What needs no CUDA.
#include "solve/gpu/device.hpp"

#include <array>
#include <cstdlib>

namespace wallheat {
namespace {

struct CoresOfMultiprocessor {
  int capability;  ///< as 90 for 9.0
  int fp32;
  int fp64;
};

// From the table "throughput of native arithmetic instructions" of NVIDIA's CUDA C++ Programming
// Guide: results a clock cycle and multiprocessor.
constexpr std::array<CoresOfMultiprocessor, 10> known{{{70, 64, 32},
                                                       {72, 64, 32},
                                                       {75, 64, 2},
                                                       {80, 64, 32},
                                                       {86, 128, 2},
                                                       {87, 128, 2},
                                                       {89, 128, 2},
                                                       {90, 128, 64},
                                                       {100, 128, 64},
                                                       {120, 128, 2}}};

}  // namespace

void use_all_gpu_queues() { (void)::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

void GpuProperties::set_cores() {
  for (const auto& [known_capability, fp32, fp64] : known) {
    if (known_capability != capability) continue;
    fp32_cores = fp32 * multiprocessors;
    fp64_cores = fp64 * multiprocessors;
  }
}

}  // namespace wallheat
