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

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

FieldForm append_field(std::vector<std::byte>& bytes, const std::vector<double>& cells) {
  const auto coded = code(cells);
  if (!coded) {
    append(bytes, shuffle<double>(cells));
    return {CodeKind::value, 0};
  }
  append(bytes, std::as_bytes(std::span(coded->values)));
  const auto count = static_cast<std::uint32_t>(coded->values.size());
  if (count > 256) {
    append(bytes, shuffle<std::uint16_t>(coded->codes));
    return {CodeKind::word, count};
  }
  for (const std::uint16_t index : coded->codes) bytes.push_back(static_cast<std::byte>(index));
  return {CodeKind::byte, count};
}

/// Everything that a stream holds.
std::vector<std::byte> unpack(const PlanForm& form, std::span<const std::byte> stream) {
  const GridShape shape = form.shape;
  // Before memory is asked for; the start field has one code a cell at least.
  const auto width = std::max(static_cast<std::size_t>(form.domain.kind),
                              static_cast<std::size_t>(form.source.kind));
  if (!can_hold(stream.size(), shape.rows, shape.cols, width))
    throw DecodeError("its cells cannot have the shape that is given for them");
  const std::size_t cells = shape.rows * shape.cols;
  std::vector<std::byte> bytes(form.mask_bytes() + form.domain.bytes(cells) +
                               form.source.bytes(cells));
  if (!inflate(stream, bytes)) throw DecodeError("its cells cannot be unpacked");
  return bytes;
}

/// Of the values, then the codes, of a field.
Grid<double> decode_field(GridShape shape, const FieldForm& form,
                          std::span<const std::byte> bytes) {
  std::vector<double> values(form.value_count);
  std::ranges::copy(bytes.first(form.values_bytes()),
                    std::as_writable_bytes(std::span(values)).begin());
  const auto codes = bytes.subspan(form.values_bytes());
  Grid<double> field(shape.rows, shape.cols);
  switch (form.kind) {
    case CodeKind::byte:
      look_up(std::span(reinterpret_cast<const std::uint8_t*>(codes.data()), codes.size()), values,
              field.cells);
      break;
    case CodeKind::word: {
      std::vector<std::uint16_t> words(field.cells.size());
      unshuffle<std::uint16_t>(codes, words);
      look_up(std::span<const std::uint16_t>(words), values, field.cells);
      break;
    }
    case CodeKind::value:
      unshuffle<double>(codes, field.cells);
      break;
    case CodeKind::none:
      throw DecodeError("it has no cells");
  }
  return field;
}

Grid<std::uint8_t> decode_bits(GridShape shape, std::span<const std::byte> bits) {
  const std::size_t stride = bytes_of_mask_row(shape.cols);
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

}  // namespace

std::size_t PlanForm::mask_bytes() const { return shape.rows * bytes_of_mask_row(shape.cols); }

PackedPlan encode_plan(const FloorPlan& plan) {
  PackedPlan packed;
  packed.form.shape = {plan.domain.rows, plan.domain.cols};
  auto bytes = mask_bits(plan.interior);
  packed.form.domain = append_field(bytes, plan.domain.cells);
  if (plan.has_source()) packed.form.source = append_field(bytes, plan.source.cells);
  packed.stream = deflate(bytes, Effort::best);
  return packed;
}

FloorPlan decode_plan(const PlanForm& form, std::span<const std::byte> stream) {
  const auto bytes = unpack(form, stream);
  const auto all = std::span<const std::byte>(bytes);
  const auto fields = all.subspan(form.mask_bytes());
  const std::size_t domain = form.domain.bytes(form.shape.rows * form.shape.cols);
  FloorPlan plan{decode_field(form.shape, form.domain, fields.first(domain)),
                 decode_bits(form.shape, all.first(form.mask_bytes()))};
  if (form.source.kind != CodeKind::none)
    plan.source = decode_field(form.shape, form.source, fields.subspan(domain));
  return plan;
}

Grid<std::uint8_t> decode_mask(const PlanForm& form, std::span<const std::byte> stream) {
  return decode_bits(form.shape, unpack(form, stream));
}

}  // namespace wallheat::store
