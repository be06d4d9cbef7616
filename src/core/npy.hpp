#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "wallheat/grid.hpp"

namespace wallheat::npy {

/// Reads a two-dimensional array of float64, float32 or whole numbers (each must be one that
/// float64 holds) in C or Fortran order. Throws InputError that names file and cause; nothing is
/// allocated before the header agrees with the size of the file.
[[nodiscard]] Grid<double> read_float(const std::filesystem::path& file);

/// Reads a two-dimensional mask of 0 and 1. In bool and uint8, every value that is not 0 becomes 1;
/// whole numbers of other sizes and floating-point numbers must be 0 or 1. Throws InputError, also
/// where the array has more than `most_cells`; it asks for no memory then.
[[nodiscard]] Grid<std::uint8_t> read_mask(
    const std::filesystem::path& file,
    std::size_t most_cells = std::numeric_limits<std::size_t>::max());

/// Takes an array row by row, in pieces of any size.
template <class Cell>
struct Pieces {
  std::function<void(GridShape)> begin;
  std::function<void(std::span<const Cell>)> cells;
};

/// The same, in no more than 100 MiB of memory however large the array is.
void read_float(const std::filesystem::path& file, const Pieces<double>& to);
void read_mask(const std::filesystem::path& file, const Pieces<std::uint8_t>& to);

/// The shape of a two-dimensional array, of which no cell is read. Throws InputError, also where
/// the file is not as long as its header says.
[[nodiscard]] GridShape read_shape(const std::filesystem::path& file);

/// Write in C order, NPY format 1.0. Throw RunError.
void write_float(const std::filesystem::path& file, const Grid<double>& grid);
void write_mask(const std::filesystem::path& file, const Grid<std::uint8_t>& grid);

/// What write_float writes.
[[nodiscard]] std::string bytes_of(const Grid<double>& grid);
/// How every NPY file begins.
inline constexpr std::string_view beginning = "\x93NUMPY";

}  // namespace wallheat::npy
