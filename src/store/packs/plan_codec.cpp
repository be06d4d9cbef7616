#include "store/packs/plan_codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "core/bytes.hpp"
#include "io/deflate.hpp"

namespace wallheat::store {
namespace {

constexpr std::size_t most_values = 65536;

/// The table of a field's values, and each cell's index in it.
struct Coded {
  std::vector<double> values;
  std::vector<std::uint16_t> codes;
};

/// Nothing if there are too many different values.
std::optional<Coded> code(const std::vector<double>& cells) {
  Coded coded;
  coded.codes.reserve(cells.size());
  std::unordered_map<std::uint64_t, std::uint16_t> indices;  // by bits: 0 is not -0
  std::uint64_t last = 0;
  std::uint16_t index = 0;
  for (const double cell : cells) {
    const auto bits = std::bit_cast<std::uint64_t>(cell);
    if (coded.values.empty() || bits != last) {
      const auto [found, is_new] =
          indices.try_emplace(bits, static_cast<std::uint16_t>(coded.values.size()));
      if (is_new) {
        if (coded.values.size() == most_values) return std::nullopt;
        coded.values.push_back(cell);
      }
      last = bits;
      index = found->second;
    }
    coded.codes.push_back(index);
  }
  return coded;
}

std::vector<std::byte> mask_bits(const Grid<std::uint8_t>& mask) {
  const std::size_t stride = bytes_of_mask_row(mask.cols);
  std::vector<std::byte> bits(mask.rows * stride);
  for (std::size_t row = 0; row < mask.rows; ++row) {
    for (std::size_t col = 0; col < mask.cols; ++col) {
      if (mask(row, col) != 0) bits[row * stride + col / 8] |= std::byte{0x80} >> (col % 8);
    }
  }
  return bits;
}

std::vector<std::byte> unpacked(std::span<const std::byte> packed, std::size_t rows,
                                std::size_t cols, std::size_t width, const char* what) {
  if (!can_hold(packed.size(), rows, cols, width)) {
    throw DecodeError(std::string(what) + " cannot have the shape that is given for them");
  }
  std::vector<std::byte> bytes(rows * cols * width);
  if (!inflate(packed, bytes)) throw DecodeError(std::string(what) + " cannot be unpacked");
  return bytes;
}

/// The values behind codes. All codes are looked up in a table that is as long as there are codes,
/// so that none needs a look before.
template <class Code>
void look_up(std::span<const Code> codes, std::span<const double> values,
             std::vector<double>& cells) {
  std::vector<double> table(values.begin(), values.end());
  table.resize(std::size_t{1} << (8 * sizeof(Code)));
  for (std::size_t i = 0; i < codes.size(); ++i) cells[i] = table[codes[i]];
  Code largest = 0;  // in a loop of its own, which the compiler vectorises
  for (const Code code : codes) largest = std::max(largest, code);
  if (largest >= values.size()) throw DecodeError("a code has no value");
}

}  // namespace

PackedPlan encode_plan(const FloorPlan& plan) {
  PackedPlan packed;
  packed.shape = {plan.domain.rows, plan.domain.cols};
  packed.interior = deflate(mask_bits(plan.interior), Effort::best);
  auto coded = code(plan.domain.cells);
  if (!coded) {
    packed.kind = CodeKind::value;
    packed.codes = deflate(shuffle<double>(plan.domain.cells), Effort::best);
    return packed;
  }
  if (coded->values.size() <= 256) {
    const std::vector<std::uint8_t> narrow(coded->codes.begin(), coded->codes.end());
    packed.codes = deflate(std::as_bytes(std::span(narrow)), Effort::best);
  } else {
    packed.kind = CodeKind::word;
    packed.codes = deflate(shuffle<std::uint16_t>(coded->codes), Effort::best);
  }
  packed.values = std::move(coded->values);
  return packed;
}

Grid<double> decode_domain(GridShape shape, CodeKind kind, std::span<const double> values,
                           std::span<const std::byte> codes) {
  const auto bytes = unpacked(codes, shape.rows, shape.cols, static_cast<std::size_t>(kind),
                              "the cells of its start field");
  Grid<double> field(shape.rows, shape.cols);
  switch (kind) {
    case CodeKind::byte:
      look_up(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), values,
              field.cells);
      break;
    case CodeKind::word: {
      std::vector<std::uint16_t> words(field.cells.size());
      unshuffle<std::uint16_t>(bytes, words);
      look_up(std::span<const std::uint16_t>(words), values, field.cells);
      break;
    }
    case CodeKind::value:
      unshuffle<double>(bytes, field.cells);
      break;
  }
  return field;
}

Grid<std::uint8_t> decode_interior(GridShape shape, std::span<const std::byte> interior) {
  const std::size_t stride = bytes_of_mask_row(shape.cols);
  const auto bits = unpacked(interior, shape.rows, stride, 1, "the cells of its mask");
  Grid<std::uint8_t> mask(shape.rows, shape.cols);
  static constexpr auto unpacked_bytes = [] {
    std::array<std::array<std::uint8_t, 8>, 256> all{};
    for (std::size_t eight = 0; eight < all.size(); ++eight) {
      for (std::size_t cell = 0; cell < 8; ++cell) all[eight][cell] = eight >> (7 - cell) & 1;
    }
    return all;
  }();
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const std::byte* from = bits.data() + row * stride;
    std::uint8_t* to = mask.cells.data() + row * shape.cols;
    for (std::size_t eight = 0; eight < shape.cols / 8; ++eight) {
      std::memcpy(to + 8 * eight, unpacked_bytes[static_cast<std::size_t>(from[eight])].data(), 8);
    }
    if (const std::size_t rest = shape.cols % 8; rest > 0) {
      std::memcpy(to + shape.cols - rest,
                  unpacked_bytes[static_cast<std::size_t>(from[stride - 1])].data(), rest);
    }
  }
  return mask;
}

}  // namespace wallheat::store
