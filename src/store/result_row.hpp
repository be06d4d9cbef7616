#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/plan_ids.hpp"
#include "core/result_columns.hpp"
#include "wallheat/plan_result.hpp"

// The row of a plan, byte for byte as result files and journals store it, and its conversion from
// and to a PlanResult.

namespace wallheat::store {

static_assert(std::endian::native == std::endian::little, "rows are stored as they are in memory");

/// Type of the stored value of a column of type T. Enumerations have 32 bits.
template <class T>
struct RowValue {
  using type = std::conditional_t<std::is_enum_v<T>, std::int32_t, T>;
};
template <std::size_t bytes>
struct RowValue<FixedText<bytes>> {
  using type = std::array<char, bytes>;
};

/// The row of a plan, byte for byte as it is stored in result files and journals. Texts are
/// terminated by NUL.
struct ResultRow {
#define WALLHEAT_MEMBER(Type, name, initial, use, meaning) RowValue<Type>::type name{};
#define WALLHEAT_NESTED(Type, name, part, use, meaning) RowValue<Type>::type name{};
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_MEMBER, WALLHEAT_NESTED)
#undef WALLHEAT_MEMBER
#undef WALLHEAT_NESTED
  std::uint32_t row_crc32 = 0;  ///< checksum of the other columns
};

static_assert(
    [] {
      std::size_t bytes = sizeof(ResultRow::row_crc32);
      for_each_member<PlanResult>(
          [&](const auto& column) { bytes += sizeof(column.in_row(std::declval<ResultRow&>())); });
      return bytes;
    }() == sizeof(ResultRow),
    "padding in ResultRow would be stored and checked as undefined bytes");
static_assert(sizeof(ResultRow::id) == max_id_length + 1);

/// Returns the row of a pending plan, with its checksum.
[[nodiscard]] ResultRow pending_row(std::size_t index, std::string_view id);

/// Returns the row of a result, without its checksum. Truncates texts that are too long at the end
/// of a UTF-8 character.
[[nodiscard]] ResultRow to_row(const PlanResult& result);
[[nodiscard]] PlanResult to_result(const ResultRow& row);
/// Assigns to an existing result. For a million rows this takes half the time of to_result(),
/// because strings are reused.
void assign_row(const ResultRow& row, PlanResult& into);

/// Sets row_crc32. Call this after the last change to the row.
void update_checksum(ResultRow& row);
/// Returns true if the checksum of the row matches.
[[nodiscard]] bool is_intact(const ResultRow& row);

[[nodiscard]] inline bool has_field(const ResultRow& row) { return row.field_bytes > 0; }
[[nodiscard]] inline PlanStatus status_of(const ResultRow& row) {
  return static_cast<PlanStatus>(row.status);
}
/// Returns a view into the row.
[[nodiscard]] std::string_view id_of(const ResultRow& row);
[[nodiscard]] inline GridShape shape_of(const ResultRow& row) { return {row.rows, row.cols}; }

/// Copies a text into a field of fixed size, followed by NUL. Truncates it if necessary, at the end
/// of a UTF-8 character.
void copy_fixed_text(std::span<char> field, std::string_view text);
/// Returns the text of a field, as a view into the field.
[[nodiscard]] std::string_view fixed_text(std::span<const char> field);

}  // namespace wallheat::store
