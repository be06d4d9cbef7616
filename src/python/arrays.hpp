#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <string>

#include "wallheat/grid.hpp"

namespace wallheat::python {

/// A two-dimensional NumPy array of numbers, in any order and byte order, as float64. `name` is
/// what messages call it. Throws InputError if it has no cells or another shape or type, if an
/// integer is too large for float64, or if a value is NaN, infinite or beyond max_magnitude.
[[nodiscard]] Grid<double> grid_from_array(const pybind11::array& array, const std::string& name);

/// A mask, 1 for each cell that is set: bool or uint8 that is not 0, or any numbers that are 0 or
/// 1, as in an ID_interior.npy. Throws InputError.
[[nodiscard]] Grid<std::uint8_t> mask_from_array(const pybind11::array& array,
                                                 const std::string& name);

/// A float64 array of the grid's shape that owns the cells; nothing is copied.
[[nodiscard]] pybind11::array_t<double> array_from_grid(Grid<double>&& grid);

/// "(3, 4)", as Python writes it.
[[nodiscard]] std::string shape_text(const pybind11::array& array);

}  // namespace wallheat::python
