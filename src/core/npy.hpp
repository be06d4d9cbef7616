#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/input_file.hpp"
#include "wallheat/grid.hpp"

// Two-dimensional arrays from the bytes of NPY files, wherever these are: in files of their own or
// in a zip archive. All that read throw InputError that names file and cause; nothing is allocated
// before the header agrees with the number of bytes.
namespace wallheat::npy {

/// An array of float64, float32 or whole numbers (each must be one that float64 holds) in C or
/// Fortran order.
[[nodiscard]] Grid<double> read_float(const NamedBytes& file);

/// A mask of 0 and 1. In bool and uint8, every value that is not 0 becomes 1; other numbers must be
/// 0 or 1. More than `max_cells` are refused.
[[nodiscard]] Grid<std::uint8_t> read_mask(
    const NamedBytes& file, std::size_t max_cells = std::numeric_limits<std::size_t>::max());

/// The shape of an array of `size` bytes, header and all, of which the first `prefix_size` are
/// enough.
[[nodiscard]] GridShape read_shape(const std::string& name, std::span<const std::byte> start,
                                   std::uint64_t size);
inline constexpr std::size_t prefix_size = 10'012;

/// Throws InputError if an NPY file of `size` bytes has more than `max_cells`, whatever its dtype.
void require_max_cells(std::size_t max_cells, const std::string& name, std::uint64_t size);

/// An NPY file of format 1.0 in C order: float64, or bool of a mask.
[[nodiscard]] std::string to_bytes(const Grid<double>& grid);
[[nodiscard]] std::string to_bytes(const Grid<std::uint8_t>& mask);

/// The magic bytes of an NPY file.
inline constexpr std::string_view magic = "\x93NUMPY";

}  // namespace wallheat::npy
