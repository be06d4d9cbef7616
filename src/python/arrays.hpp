#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <string>

#include "wallheat/grid.hpp"

namespace wallheat::python {

/// Converts a two-dimensional NumPy array of numbers, of any memory and byte order, to float64.
/// `name` is used in error messages. Throws InputError if the array has no cells or another shape
/// or type, if an integer has a magnitude of 2^53 or more, from which float64 cannot represent all
/// integers, or if a value is NaN, infinite or beyond max_magnitude.
[[nodiscard]] Grid<double> grid_from_array(const pybind11::array& array, const std::string& name);

/// Converts a mask to 1 for each interior cell and 0 for all others. The array may be of bool or
/// uint8, of which all values other than 0 count as interior, or of any numbers that are 0 or 1, as
/// in ID_interior.npy. Throws InputError.
[[nodiscard]] Grid<std::uint8_t> mask_from_array(const pybind11::array& array,
                                                 const std::string& name);

/// Returns a float64 array of the grid's shape that owns the cells. Copies nothing.
[[nodiscard]] pybind11::array_t<double> array_from_grid(Grid<double>&& grid);

/// Returns the shape as Python prints it, such as "(3, 4)".
[[nodiscard]] std::string shape_text(const pybind11::array& array);

}  // namespace wallheat::python
