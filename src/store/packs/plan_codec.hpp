#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat::store {

/// What the cells of a stored start field or source are.
enum class CodeKind : std::uint32_t {
  none = 0,   ///< there is no such field
  byte = 1,   ///< uint8: indices in the table of values
  word = 2,   ///< uint16: the same
  value = 8,  ///< float64: the values themselves, as there are more than 65536 different ones
};

/// How a start field or source is stored: its values, each once by its bits, as float64, and the
/// codes of its cells, shuffled (the first bytes of all, then all second bytes, and so on).
struct FieldForm {
  CodeKind kind = CodeKind::none;
  std::uint32_t value_count = 0;  ///< 0 for CodeKind::value

  [[nodiscard]] std::size_t values_bytes() const { return value_count * sizeof(double); }
  [[nodiscard]] std::size_t bytes(std::size_t cells) const {
    return values_bytes() + cells * static_cast<std::size_t>(kind);
  }
};

/// How a plan is stored: the bits of its mask (numpy.packbits of each row), its start field, and
/// its source if it has one.
struct PlanForm {
  GridShape shape;
  FieldForm domain, source;

  [[nodiscard]] std::size_t mask_bytes() const;
};

/// A plan as a pack holds it.
struct PackedPlan {
  PlanForm form;
  std::vector<std::byte> stream;  ///< zlib's, of all bytes
};

/// Eight cells a byte, the first in the highest bit; a row begins with a new byte.
[[nodiscard]] constexpr std::size_t bytes_of_mask_row(std::size_t cols) { return (cols + 7) / 8; }

[[nodiscard]] PackedPlan encode_plan(const FloorPlan& plan);

/// Throw DecodeError if the bytes hold no such plan. A value that no floor plan may have is left
/// in.
[[nodiscard]] FloorPlan decode_plan(const PlanForm& form, std::span<const std::byte> stream);
/// The mask alone.
[[nodiscard]] Grid<std::uint8_t> decode_mask(const PlanForm& form,
                                             std::span<const std::byte> stream);

}  // namespace wallheat::store
