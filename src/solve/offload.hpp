#pragma once

#include <limits>

namespace wallheat {

/// A processor that works where the data are, and a GPU to which they must go. Operations are of
/// any kind, as long as it is the same for both: floating point, or updates of cells.
struct Offload {
  double bytes_per_s = 0;  ///< between host and GPU
  double cpu_per_s = 0;    ///< operations
  double gpu_per_s = 0;    ///< operations
  double start_s = 0;      ///< what each hand-over costs beside the bytes
};

/// From how many operations on it pays to hand `bytes` to the GPU (and back, if they are
/// counted): n* = (start + bytes / B) / (1 / C - 1 / G), at which start + bytes / B + n* / G = n* /
/// C. Infinite if the GPU is no faster.
[[nodiscard]] constexpr double break_even_operations(const Offload& offload, double bytes) {
  const double gain_s = 1 / offload.cpu_per_s - 1 / offload.gpu_per_s;
  if (!(gain_s > 0)) return std::numeric_limits<double>::infinity();
  return (offload.start_s + bytes / offload.bytes_per_s) / gain_s;
}

}  // namespace wallheat
