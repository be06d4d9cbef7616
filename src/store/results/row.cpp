#include "store/results/row.hpp"

#include <algorithm>
#include <cstddef>
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

std::string get_text(std::span<const char> field) {
  return {field.begin(), std::find(field.begin(), field.end(), '\0')};
}

Row pending_row(std::size_t index, std::string_view id) {
  PlanResult nothing;
  nothing.index = static_cast<std::uint32_t>(index);
  nothing.id = id;
  auto row = to_row(nothing);
  seal(row);
  return row;
}

Row to_row(const PlanResult& result) {
  Row row{};
  row.index = result.index;
  row.status = static_cast<std::int32_t>(result.status);
  put_text(row.id, result.id);
  row.mean_temp = result.statistics.mean_temp;
  row.std_temp = result.statistics.std_temp;
  row.pct_above_18 = result.statistics.pct_above_18;
  row.pct_below_15 = result.statistics.pct_below_15;
  row.iterations = result.iterations;
  row.last_delta = result.last_delta;
  row.interior_cells = result.interior_cells;
  row.rows = result.rows;
  row.cols = result.cols;
  row.seconds = result.seconds;
  row.attempts = result.attempts;
  row.failures = result.failures;
  row.rank = result.rank;
  put_text(row.host, result.host);
  put_text(row.device, result.device);
  put_text(row.solver, result.solver);
  row.input_hash = result.input_hash;
  put_stamps(row, result.input_stamps);
  row.field_slot = -1;
  put_text(row.error, result.error);
  return row;
}

void put_stamps(Row& row, const PlanStamps& stamps) {
  row.domain_size = stamps[0].size_bytes;
  row.domain_mtime_ns = stamps[0].mtime_ns;
  row.interior_size = stamps[1].size_bytes;
  row.interior_mtime_ns = stamps[1].mtime_ns;
}

PlanResult to_result(const Row& row) {
  PlanResult result;
  result.index = row.index;
  result.id = id_of(row);
  result.status = status_of(row);
  result.statistics = {row.mean_temp, row.std_temp, row.pct_above_18, row.pct_below_15};
  result.iterations = row.iterations;
  result.last_delta = row.last_delta;
  result.interior_cells = row.interior_cells;
  result.rows = row.rows;
  result.cols = row.cols;
  result.seconds = row.seconds;
  result.attempts = row.attempts;
  result.failures = row.failures;
  result.rank = row.rank;
  result.host = get_text(row.host);
  result.device = get_text(row.device);
  result.solver = get_text(row.solver);
  result.input_hash = row.input_hash;
  result.input_stamps = {FileStamp{row.domain_size, row.domain_mtime_ns},
                         FileStamp{row.interior_size, row.interior_mtime_ns}};
  result.error = get_text(row.error);
  return result;
}

void seal(Row& row) {
  row.row_crc32 = crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(Row, row_crc32)));
}

bool is_intact(const Row& row) {
  const auto crc = crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(Row, row_crc32)));
  return row.row_crc32 == crc && row.status >= 0 &&
         row.status <= static_cast<std::int32_t>(PlanStatus::failed);
}

std::string id_of(const Row& row) { return get_text(row.id); }

}  // namespace wallheat::store
