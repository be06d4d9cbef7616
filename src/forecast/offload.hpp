#pragma once

#include <limits>

namespace wallheat {

/// A processor that has the data, and a GPU to which the data must be transferred. Operations may
/// be of any type, such as floating-point operations or cell updates, as long as both rates use the
/// same type.
struct Offload {
  double bytes_per_s = 0;  ///< between host and GPU
  double cpu_per_s = 0;    ///< operations per second
  double gpu_per_s = 0;    ///< operations per second
  double start_s = 0;      ///< cost of each transfer in addition to that of the bytes
};

/// Returns the minimum number of operations for which transferring `bytes` to the GPU (and back, if
/// they are counted) pays: n* = (start + bytes / B) / (1 / C - 1 / G), at which start + bytes / B +
/// n* / G = n* / C. Returns infinity if the GPU is not faster.
[[nodiscard]] constexpr double break_even_operations(const Offload& offload, double bytes) {
  const double gain_s = 1 / offload.cpu_per_s - 1 / offload.gpu_per_s;
  if (!(gain_s > 0)) return std::numeric_limits<double>::infinity();
  return (offload.start_s + bytes / offload.bytes_per_s) / gain_s;
}

}  // namespace wallheat
