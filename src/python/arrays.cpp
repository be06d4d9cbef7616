#include "python/arrays.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "wallheat/error.hpp"
#include "wallheat/floor_plan.hpp"

namespace py = pybind11;

namespace wallheat::python {
namespace {

/// Returns the array with values of another type, aligned and in C order. Returns the array itself
/// if it has this form already.
template <class T>
py::array_t<T> converted(const py::array& array) {
  constexpr int layout =
      py::array::c_style | py::array::forcecast | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  // Raises the exception of NumPy, for example if there is not enough memory.
  return py::array_t<T, layout>(array);
}

template <class T, class From>
Grid<T> grid_of(const py::array_t<From>& array) {
  Grid<T> grid(static_cast<std::size_t>(array.shape(0)), static_cast<std::size_t>(array.shape(1)));
  std::copy_n(array.data(), grid.cells.size(), grid.cells.begin());
  return grid;
}

void require_two_dimensions(const py::array& array, const std::string& name) {
  if (array.ndim() != 2)
    throw InputError(name + " must have two dimensions (rows, columns), not the shape " +
                     shape_text(array));
  if (array.size() == 0)
    throw InputError(name + " of the shape " + shape_text(array) + " has no cells");
}

[[noreturn]] void refuse_type(const py::array& array, const std::string& name,
                              const std::string& wanted) {
  throw InputError(name + " must hold " + wanted + ", not " +
                   py::str(array.dtype()).cast<std::string>());
}

std::string cell_name(const std::string& name, std::size_t cell, std::size_t cols) {
  return name + ": the value in row " + std::to_string(cell / cols) + ", column " +
         std::to_string(cell % cols);
}

}  // namespace

std::string shape_text(const py::array& array) {
  return py::str(array.attr("shape")).cast<std::string>();
}

Grid<double> grid_from_array(const py::array& array, const std::string& name) {
  require_two_dimensions(array, name);
  const char kind = array.dtype().kind();
  const bool is_integer = kind == 'i' || kind == 'u';
  if (!is_integer && !(kind == 'f' && array.itemsize() <= 8))
    refuse_type(array, name, "float64, float32 or integers");
  auto grid = grid_of<double>(converted<double>(array));
  if (is_integer) {
    constexpr double first_inexact = 0x1p53;
    const auto found = std::find_if(grid.cells.begin(), grid.cells.end(),
                                    [](double value) { return std::abs(value) >= first_inexact; });
    if (found != grid.cells.end())
      throw InputError(
          cell_name(name, static_cast<std::size_t>(found - grid.cells.begin()), grid.cols) +
          " is an integer that float64 may not represent exactly");
  }
  require_finite_values(grid, name);
  return grid;
}

Grid<std::uint8_t> mask_from_array(const py::array& array, const std::string& name) {
  require_two_dimensions(array, name);
  const char kind = array.dtype().kind();
  if (kind == 'b' || (kind == 'u' && array.itemsize() == 1))
    return grid_of<std::uint8_t>(converted<bool>(array));
  if (kind != 'i' && kind != 'u' && kind != 'f') refuse_type(array, name, "bool, or numbers");
  const auto values = converted<double>(array);
  const auto* end = values.data() + values.size();
  const auto* found =
      std::find_if(values.data(), end, [](double value) { return value != 0 && value != 1; });
  if (found != end)
    throw InputError(cell_name(name, static_cast<std::size_t>(found - values.data()),
                               static_cast<std::size_t>(values.shape(1))) +
                     " is neither 0 nor 1; a mask is bool, uint8 or numbers that are 0 or 1");
  return grid_of<std::uint8_t>(values);
}

py::array_t<double> array_from_grid(Grid<double>&& grid) {
  auto owner = std::make_unique<Grid<double>>(std::move(grid));
  const py::capsule keeper(owner.get(),
                           [](void* kept) { delete static_cast<Grid<double>*>(kept); });
  const Grid<double>& kept = *owner.release();
  return py::array_t<double>({kept.rows, kept.cols}, kept.cells.data(), keeper);
}

}  // namespace wallheat::python
