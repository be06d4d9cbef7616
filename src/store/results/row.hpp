#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/plan_ids.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat::store {

static_assert(std::endian::native == std::endian::little, "rows are stored as they are in memory");

/// A plan's row exactly as it lies in the HDF5 file and in the log. Texts end in NUL.
struct Row {
  std::uint32_t index;
  std::int32_t status;
  std::array<char, max_id_length + 1> id;
  double mean_temp, std_temp;         // °C
  double pct_above_18, pct_below_15;  // % of interior cells
  std::int64_t iterations;
  double last_delta;  // °C
  std::int64_t interior_cells;
  std::uint32_t rows, cols;
  double seconds;
  std::int32_t attempts, rank;
  std::array<char, 64> host, device, solver;
  std::uint64_t input_hash;
  std::int64_t domain_size, domain_mtime_ns, interior_size, interior_mtime_ns;
  std::int64_t field_slot;  // -1: no field
  std::int64_t field_bytes;
  std::uint32_t field_crc32;
  std::int32_t failures;  // of the attempts
  std::array<char, 260> error;
  std::uint32_t row_crc32;  // of all bytes before it
};
static_assert(sizeof(Row) == 736, "a gap in Row would store, and check, undefined bytes");

/// A row without an answer, sealed.
[[nodiscard]] Row pending_row(std::size_t index, std::string_view id);

/// The row of a result, without a field, not sealed. Texts that are too long are cut between
/// characters.
[[nodiscard]] Row to_row(const PlanResult& result);
[[nodiscard]] PlanResult to_result(const Row& row);
void put_stamps(Row& row, const PlanStamps& stamps);

/// Computes row_crc32; to be called after the last change.
void seal(Row& row);
/// True where the row is as it was sealed.
[[nodiscard]] bool is_intact(const Row& row);

[[nodiscard]] inline bool has_field(const Row& row) { return row.field_slot >= 0; }
[[nodiscard]] inline PlanStatus status_of(const Row& row) {
  return static_cast<PlanStatus>(row.status);
}
[[nodiscard]] inline GridShape shape_of(const Row& row) { return {row.rows, row.cols}; }
[[nodiscard]] std::string id_of(const Row& row);

/// Copies text into a fixed field, cut so that no UTF-8 character is split and a NUL follows.
void put_text(std::span<char> field, std::string_view text);
[[nodiscard]] std::string get_text(std::span<const char> field);

}  // namespace wallheat::store
