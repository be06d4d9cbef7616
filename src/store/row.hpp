#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/plan_ids.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat::store {

static_assert(std::endian::native == std::endian::little, "rows are stored as they are in memory");

/// What a row holds for a column of type T: enumerations are 32 bits wide.
template <class T>
using RowValue = typename std::conditional_t<std::is_enum_v<T>, std::type_identity<std::int32_t>,
                                             std::type_identity<T>>::type;

/// A plan's row exactly as it lies in the HDF5 file and in journals. Texts end in NUL.
struct Row {
// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define WALLHEAT_NUMBER(type, name, initial, use, meaning) RowValue<type> name{};
#define WALLHEAT_TEXT(bytes, name, use, meaning) std::array<char, bytes> name{};
#define WALLHEAT_PART(type, name, part, use, meaning) RowValue<type> name{};
#define WALLHEAT_STORED(type, name, initial, meaning) RowValue<type> name = initial;
  // NOLINTEND(bugprone-macro-parentheses)
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_NUMBER, WALLHEAT_TEXT, WALLHEAT_PART, WALLHEAT_STORED)
#undef WALLHEAT_NUMBER
#undef WALLHEAT_TEXT
#undef WALLHEAT_PART
#undef WALLHEAT_STORED
};

/// Calls visit(name, member, type) for each column of a row, in order: `member` points to it,
/// `type` is a std::type_identity of its type in WALLHEAT_RESULT_COLUMNS, std::string for a text.
template <class Visit>
constexpr void for_each_row_column(Visit&& visit) {
#define WALLHEAT_NUMBER(type, name, initial, use, meaning) \
  visit(#name, &Row::name, std::type_identity<type>{});
#define WALLHEAT_TEXT(bytes, name, use, meaning) \
  visit(#name, &Row::name, std::type_identity<std::string>{});
#define WALLHEAT_PART(type, name, part, use, meaning) \
  visit(#name, &Row::name, std::type_identity<type>{});
#define WALLHEAT_STORED(type, name, initial, meaning) \
  visit(#name, &Row::name, std::type_identity<type>{});
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_NUMBER, WALLHEAT_TEXT, WALLHEAT_PART, WALLHEAT_STORED)
#undef WALLHEAT_NUMBER
#undef WALLHEAT_TEXT
#undef WALLHEAT_PART
#undef WALLHEAT_STORED
}

static_assert(
    [] {
      std::size_t bytes = 0;
      for_each_row_column(
          [&](const char*, auto member, auto) { bytes += sizeof(std::declval<Row>().*member); });
      return bytes;
    }() == sizeof(Row),
    "a gap in Row would store, and check, undefined bytes");
static_assert(sizeof(Row::id) == max_id_length + 1);

/// A row without an answer, sealed.
[[nodiscard]] Row pending_row(std::size_t index, std::string_view id);

/// The row of a result, not sealed. Texts that are too long are cut between characters.
[[nodiscard]] Row to_row(const PlanResult& result);
[[nodiscard]] PlanResult to_result(const Row& row);
/// The same into a result that was made of another row: of a million that takes half the time.
void put_row(const Row& row, PlanResult& into);

/// Computes row_crc32; to be called after the last change.
void seal(Row& row);
/// True if the row is as it was sealed.
[[nodiscard]] bool is_intact(const Row& row);

[[nodiscard]] inline bool has_field(const Row& row) { return row.field_bytes > 0; }
[[nodiscard]] inline PlanStatus status_of(const Row& row) {
  return static_cast<PlanStatus>(row.status);
}
[[nodiscard]] std::string_view id_of(const Row& row);  ///< valid as long as the row
[[nodiscard]] inline GridShape shape_of(const Row& row) { return {row.rows, row.cols}; }

/// Copies text into a fixed field, cut so that no UTF-8 character is split and a NUL follows.
void put_text(std::span<char> field, std::string_view text);
/// Valid as long as the field.
[[nodiscard]] std::string_view text_in(std::span<const char> field);

}  // namespace wallheat::store
