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
constexpr std::array<CoresOfMultiprocessor, 12> known{{{70, 64, 32},
                                                       {72, 64, 32},
                                                       {75, 64, 2},
                                                       {80, 64, 32},
                                                       {86, 128, 2},
                                                       {87, 128, 2},
                                                       {89, 128, 2},
                                                       {90, 128, 64},
                                                       {100, 128, 64},
                                                       {103, 128, 2},
                                                       {120, 128, 2},
                                                       {121, 128, 2}}};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

void use_all_gpu_queues() { (void)::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

void GpuProperties::set_cores() {
  for (const auto& [known_capability, fp32, fp64] : known) {
    if (known_capability != capability) continue;
    fp32_cores = fp32 * multiprocessors;
    fp64_cores = fp64 * multiprocessors;
  }
}

std::string why_driver_is_too_old(int driver, int built_with) {
  const int needed = built_with / 1000;
  if (driver / 1000 >= needed) return {};
  // From the table of minimum drivers in the toolkits' release notes.
  const char* release = needed == 12 ? "R525" : needed == 13 ? "R580" : nullptr;
  return "the driver is for CUDA " + version_text(driver) +
         ", but this wallheat was built with CUDA " + version_text(built_with) +
         ", which needs driver " + (release ? release : "for CUDA ") +
         (release ? "" : std::to_string(needed)) +
         " or newer: update the driver, or build wallheat with CUDA " +
         std::to_string(driver / 1000);
}

}  // namespace wallheat
