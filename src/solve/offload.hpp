#pragma once

#include <cstddef>
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

/// From how many operations on it pays to hand so many bytes to the GPU, and back where they are
/// counted: n* = (start + bytes / B) / (1 / C - 1 / G), at which start + bytes / B + n* / G = n* /
/// C. Infinite where the GPU is no faster.
[[nodiscard]] constexpr double break_even_operations(const Offload& offload, double bytes) {
  const double gain_s = 1 / offload.cpu_per_s - 1 / offload.gpu_per_s;
  if (!(gain_s > 0)) return std::numeric_limits<double>::infinity();
  return (offload.start_s + bytes / offload.bytes_per_s) / gain_s;
}

/// The cell updates of a square floor plan, by its cells: both the cells of its rooms and the
/// iterations grow with its area. Fitted to generated plans (tolerance 1e-4 °C) of 96 to 256 cells
/// a side, within 12 % of the mean of 24.
[[nodiscard]] constexpr double usual_updates(double cells) { return 0.0171 * cells * cells; }

/// What a plan's cell is on the way to a GPU and back: 8 bytes of start field, 1 of mask, 8 of the
/// answer.
inline constexpr double bytes_a_cell = 17;

/// The side, in cells, from which on square plans pay on a GPU: operations are cell updates. 0
/// where there is none below 100,000.
[[nodiscard]] constexpr std::size_t break_even_plan_side(const Offload& offload) {
  constexpr std::size_t largest = 100'000;
  for (std::size_t side = 1; side < largest; ++side) {
    const double cells = static_cast<double>(side) * static_cast<double>(side);
    if (usual_updates(cells) >= break_even_operations(offload, bytes_a_cell * cells)) return side;
  }
  return 0;
}

}  // namespace wallheat
