#include "solve/worth_a_gpu.hpp"

#include <algorithm>
#include <cstddef>

namespace wallheat {

bool worth_a_gpu(const std::vector<GridShape>& shapes) {
  const auto large = std::count_if(shapes.begin(), shapes.end(), [](const GridShape& shape) {
    return static_cast<double>(shape.rows) * static_cast<double>(shape.cols) >=
           gpu_break_even_side * gpu_break_even_side;
  });
  return 2 * static_cast<std::size_t>(large) >= shapes.size();
}

}  // namespace wallheat
