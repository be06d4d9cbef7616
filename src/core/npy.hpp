#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/input_file.hpp"
#include "wallheat/grid.hpp"

// Conversion of two-dimensional arrays from and to the bytes of NPY files, which may be separate
// files or members of a zip archive. All functions that read throw InputError, whose message
// contains the name of the file and the cause. They allocate nothing before the header agrees with
// the number of bytes.
namespace wallheat::npy {

/// Returns an array of float64, float32 or integers, in C or Fortran order, as float64. Each
/// integer must be representable as float64.
[[nodiscard]] Grid<double> read_float(const NamedBytes& file);
/// Reads an open file in the same way, which is called `name` in messages. Reads float64 in C order
/// without a copy.
[[nodiscard]] Grid<double> read_float(const std::string& name, const InputFile& file);

/// Returns a mask of 0 and 1. In bool and uint8, every value other than 0 becomes 1; numbers of
/// other types must be 0 or 1. Throws InputError if there are more than `max_cells` cells.
[[nodiscard]] Grid<std::uint8_t> read_mask(
    const NamedBytes& file, std::size_t max_cells = std::numeric_limits<std::size_t>::max());

/// Returns the shape of an array in an NPY file of `size` bytes, including the header. `start` are
/// the first bytes of the file; `prefix_size` bytes are enough.
[[nodiscard]] GridShape read_shape(const std::string& name, std::span<const std::byte> start,
                                   std::uint64_t size);
inline constexpr std::size_t prefix_size = 10'012;

/// Throws InputError if an NPY file of `size` bytes has more than `max_cells` cells, for every
/// dtype.
void require_max_cells(std::size_t max_cells, const std::string& name, std::uint64_t size);

/// Return an NPY file of format 1.0 in C order, with dtype float64, or bool for a mask.
[[nodiscard]] std::string to_bytes(const Grid<double>& grid);
[[nodiscard]] std::string to_bytes(const Grid<std::uint8_t>& mask);

/// Returns the part of such a file that precedes the items.
[[nodiscard]] std::string header_bytes(const Grid<double>& grid);
[[nodiscard]] std::string header_bytes(const Grid<std::uint8_t>& mask);

/// Magic bytes of an NPY file.
inline constexpr std::string_view magic = "\x93NUMPY";

}  // namespace wallheat::npy
