#pragma once

// The part of NVML that is read here, declared as NVIDIA's "NVML API Reference Guide" documents its
// stable interface: toolkits do not always bring nvml.h, and the driver always brings the library.

namespace wallheat::nvml {

using Device = struct OpaqueDevice*;
enum Status : int { success = 0, not_supported = 3, gpu_is_lost = 15 };  ///< others are errors, too

struct Utilization {
  unsigned gpu;     ///< %
  unsigned memory;  ///< %
};
struct Memory {
  unsigned long long total;  ///< bytes, as the others
  unsigned long long free;
  unsigned long long used;
};

// Values of enumerations.
inline constexpr int temperature_gpu = 0;
inline constexpr int clock_sm = 1;
inline constexpr int error_uncorrected = 1;
inline constexpr int counter_volatile = 0;

}  // namespace wallheat::nvml
