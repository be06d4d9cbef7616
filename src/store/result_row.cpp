#include "store/result_row.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/result_columns.hpp"
#include "io/deflate.hpp"

namespace wallheat::store {

void copy_fixed_text(std::span<char> field, std::string_view text) {
  std::size_t length = std::min(text.size(), field.size() - 1);
  if (length < text.size()) {
    // Bytes 10xxxxxx continue a UTF-8 character. Removes the beginning of the truncated character,
    // too.
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  }
  std::fill(std::copy_n(text.begin(), length, field.begin()), field.end(), '\0');
}

std::string_view fixed_text(std::span<const char> field) {
  return {field.data(), ::strnlen(field.data(), field.size())};
}

ResultRow pending_row(std::size_t index, std::string_view id) {
  static const ResultRow nothing = to_row({});
  ResultRow row = nothing;
  row.index = static_cast<std::uint32_t>(index);
  copy_fixed_text(row.id, id);
  update_checksum(row);
  return row;
}

namespace {

void copy(const std::string& text, std::span<char> in_row) { copy_fixed_text(in_row, text); }
void copy(std::span<const char> in_row, std::string& text) { text = fixed_text(in_row); }
template <class From, class To>
requires(std::is_arithmetic_v<From> || std::is_enum_v<From>) void copy(From from, To& to) {
  to = static_cast<To>(from);
}

}  // namespace

ResultRow to_row(const PlanResult& result) {
  ResultRow row{};
  for_each_member<PlanResult>(
      [&](const auto& column) { copy(column.of(result), column.in_row(row)); });
  return row;
}

PlanResult to_result(const ResultRow& row) {
  PlanResult result;
  assign_row(row, result);
  return result;
}

void assign_row(const ResultRow& row, PlanResult& into) {
  for_each_member<PlanResult>(
      [&](const auto& column) { copy(column.in_row(row), column.of(into)); });
}

static std::uint32_t row_checksum_of(const ResultRow& row) {
  return crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(ResultRow, row_crc32)));
}

void update_checksum(ResultRow& row) { row.row_crc32 = row_checksum_of(row); }

bool is_intact(const ResultRow& row) {
  return row.row_crc32 == row_checksum_of(row) && row.status >= 0 &&
         static_cast<std::size_t>(row.status) < plan_statuses.size();
}

std::string_view id_of(const ResultRow& row) { return fixed_text(row.id); }

}  // namespace wallheat::store
