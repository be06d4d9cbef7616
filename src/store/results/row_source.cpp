#include "store/results/row_source.hpp"

#include "wallheat/error.hpp"

namespace wallheat::store {

RowsInFile::RowsInFile(System& system, const std::filesystem::path& file, std::uint64_t offset,
                       std::size_t count)
    : path_(file), in_(system, file, O_RDONLY), offset_(offset), count_(count) {}

void RowsInFile::refuse() const { throw RunError(path_.string() + " changed while it was read"); }

void RowsInFile::read_unchecked(std::size_t first, std::span<Row> rows) const {
  if (!in_.read_at(offset_ + first * sizeof(Row), std::as_writable_bytes(rows))) refuse();
}

void RowsInFile::read(std::size_t first, std::span<Row> rows) const {
  read_unchecked(first, rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!is_intact(rows[i]) || rows[i].index != first + i) refuse();
}

void RowsInLog::read(std::size_t first, std::span<Row> rows) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t at = at_[first + i];
    if (at == 0) {
      rows[i] = pending_row(first + i, ids_[first + i]);
    } else if (!in_.read_at(at, std::as_writable_bytes(rows.subspan(i, 1))) ||
               !is_intact(rows[i]) || rows[i].index != first + i) {
      throw RunError(path_.string() + " changed while it was read");
    }
  }
}

void PendingRows::read(std::size_t first, std::span<Row> rows) const {
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = pending_row(first + i, ids_[first + i]);
}

}  // namespace wallheat::store
