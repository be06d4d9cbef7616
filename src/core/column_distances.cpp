#include "core/column_distances.hpp"

#include <algorithm>
#include <vector>

namespace wallheat {

Grid<std::uint16_t> column_distances(const Grid<std::uint8_t>& interior, std::uint16_t most) {
  const std::size_t cols = interior.cols;
  Grid<std::uint16_t> distances(interior.rows, cols);
  const auto next = [most](std::uint16_t distance) {
    return static_cast<std::uint16_t>(std::min<std::uint16_t>(distance, most - 1) + 1);
  };
  const std::vector<std::uint16_t> outside(cols, 0);
  const std::uint16_t* beside = outside.data();
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::uint8_t* mask = interior.cells.data() + row * cols;
    std::uint16_t* here = distances.cells.data() + row * cols;
    for (std::size_t col = 0; col < cols; ++col)
      here[col] = mask[col] != 0 ? next(beside[col]) : std::uint16_t{0};
    beside = here;
  }
  beside = outside.data();
  for (std::size_t row = interior.rows; row-- > 0;) {
    std::uint16_t* here = distances.cells.data() + row * cols;
    for (std::size_t col = 0; col < cols; ++col) here[col] = std::min(here[col], next(beside[col]));
    beside = here;
  }
  return distances;
}

}  // namespace wallheat
