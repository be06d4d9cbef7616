#pragma once

#include <array>
#include <cstddef>

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

struct ProcessInfo {  ///< of the functions _v2 and _v3
  unsigned pid;
  unsigned long long used_bytes;  ///< all bits set: not known
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct ProcessUtilization {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm;  ///< %, as the others
  unsigned memory;
  unsigned encoder;
  unsigned decoder;
};

/// What can be asked for by a number alone; the caller fills in `field`.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long time_us;
  long long latency_us;
  int type;
  Status status;
  alignas(8) std::array<std::byte, 8> value;  ///< what it holds depends on the type
};

// Values of enumerations.
inline constexpr int temperature_gpu = 0;
inline constexpr int clock_sm = 1;
inline constexpr int clock_memory = 2;
inline constexpr unsigned field_memory_temperature = 82;
inline constexpr int type_unsigned = 1;
inline constexpr std::size_t longest_text = 96;  ///< of UUIDs and names, with the 0 at the end
inline constexpr unsigned long long bytes_not_known = ~0ULL;

}  // namespace wallheat::nvml
