#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat::store {

/// What the cells of a stored start field are.
enum class CodeKind : std::uint32_t {
  byte = 1,   ///< uint8: indices in the table of values
  word = 2,   ///< uint16: the same
  value = 8,  ///< float64: the values themselves, as there are more than 65536 different ones
};

/// A plan as a pack holds it. `codes` and `interior` are what HDF5's shuffle and deflate filters
/// make of a chunk.
struct PackedPlan {
  GridShape shape;
  CodeKind kind = CodeKind::byte;
  std::vector<double> values;       ///< each once, by its bits; empty for CodeKind::value
  std::vector<std::byte> codes;     ///< of (rows, cols) codes
  std::vector<std::byte> interior;  ///< of (rows, bytes_of_mask_row) bytes, numpy.packbits of a row
};

/// Eight cells a byte, the first in the highest bit; a row begins with a new byte.
[[nodiscard]] constexpr std::size_t bytes_of_mask_row(std::size_t cols) { return (cols + 7) / 8; }

[[nodiscard]] PackedPlan encode_plan(const FloorPlan& plan);

/// Throw DecodeError if the bytes hold no such plan.
[[nodiscard]] Grid<double> decode_domain(GridShape shape, CodeKind kind,
                                         std::span<const double> values,
                                         std::span<const std::byte> codes);
[[nodiscard]] Grid<std::uint8_t> decode_interior(GridShape shape,
                                                 std::span<const std::byte> interior);

}  // namespace wallheat::store
