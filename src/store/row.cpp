#include "store/row.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "io/checksum.hpp"

namespace wallheat::store {

void put_text(std::span<char> field, std::string_view text) {
  std::size_t length = std::min(text.size(), field.size() - 1);
  if (length < text.size()) {
    // Bytes 10xxxxxx continue a character: step back to where the one that was cut begins.
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  }
  std::fill(std::copy_n(text.begin(), length, field.begin()), field.end(), '\0');
}

std::string_view text_in(std::span<const char> field) {
  return {field.data(), ::strnlen(field.data(), field.size())};
}

Row pending_row(std::size_t index, std::string_view id) {
  static const Row nothing = to_row({});
  Row row = nothing;
  row.index = static_cast<std::uint32_t>(index);
  put_text(row.id, id);
  seal(row);
  return row;
}

namespace {

void copy(const std::string& text, std::span<char> in_row) { put_text(in_row, text); }
void copy(std::span<const char> in_row, std::string& text) { text = text_in(in_row); }
template <class From, class To>
requires(std::is_arithmetic_v<From> || std::is_enum_v<From>) void copy(From from, To& to) {
  to = static_cast<To>(from);
}

/// Calls copy_column(row's value, result's value) for each column that both have.
template <class ARow, class AResult, class CopyColumn>
void match(ARow& row, AResult& result, CopyColumn copy_column) {
#define WALLHEAT_NUMBER(type, name, initial, use, meaning) copy_column(row.name, result.name);
#define WALLHEAT_TEXT(bytes, name, use, meaning) copy_column(row.name, result.name);
#define WALLHEAT_PART(type, name, part, use, meaning) copy_column(row.name, result.part);
#define WALLHEAT_STORED(type, name, initial, meaning)
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_NUMBER, WALLHEAT_TEXT, WALLHEAT_PART, WALLHEAT_STORED)
#undef WALLHEAT_NUMBER
#undef WALLHEAT_TEXT
#undef WALLHEAT_PART
#undef WALLHEAT_STORED
}

}  // namespace

Row to_row(const PlanResult& result) {
  Row row{};
  match(row, result, [](auto& in_row, const auto& value) { copy(value, in_row); });
  return row;
}

PlanResult to_result(const Row& row) {
  PlanResult result;
  put_row(row, result);
  return result;
}

void put_row(const Row& row, PlanResult& into) {
  match(row, into, [](const auto& in_row, auto& value) { copy(in_row, value); });
}

void seal(Row& row) {
  row.row_crc32 = crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(Row, row_crc32)));
}

bool is_intact(const Row& row) {
  const auto crc = crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(Row, row_crc32)));
  return row.row_crc32 == crc && row.status >= 0 &&
         row.status <= static_cast<std::int32_t>(PlanStatus::failed);
}

std::string_view id_of(const Row& row) { return text_in(row.id); }

}  // namespace wallheat::store
