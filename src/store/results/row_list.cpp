#include "store/results/row_list.hpp"

#include <algorithm>
#include <cstring>

#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

/// What is packed is a sequence of pieces: so many zeros, then so many other bytes, which follow.
struct Piece {
  std::uint16_t zeros;
  std::uint16_t others;
};
static_assert(sizeof(Row) < 65536);

/// Adds it to what is packed.
void pack(const Row& row, std::vector<std::byte>& packed) {
  const auto bytes = std::as_bytes(std::span(&row, 1));
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t first = at;
    while (at < bytes.size() && bytes[at] == std::byte{0}) ++at;
    const std::size_t others = at;
    // Fewer zeros than a piece's head are not worth one.
    std::size_t zeros = 0;
    while (at < bytes.size() && zeros <= sizeof(Piece))
      zeros = bytes[at++] == std::byte{0} ? zeros + 1 : 0;
    at -= zeros;
    const Piece piece{static_cast<std::uint16_t>(others - first),
                      static_cast<std::uint16_t>(at - others)};
    const auto head = std::as_bytes(std::span(&piece, 1));
    packed.insert(packed.end(), head.begin(), head.end());
    packed.insert(packed.end(), bytes.begin() + static_cast<std::ptrdiff_t>(others),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

Row unpacked(const std::byte* packed, const std::byte* end) {
  Row row;
  auto* to = reinterpret_cast<std::byte*>(&row);
  std::memset(to, 0, sizeof row);
  while (packed != end) {
    Piece piece{};
    std::memcpy(&piece, packed, sizeof piece);
    packed += sizeof piece;
    to += piece.zeros;
    std::memcpy(to, packed, piece.others);
    packed += piece.others;
    to += piece.others;
  }
  return row;
}

[[noreturn]] void refuse_changed_rows(const std::filesystem::path& file) {
  throw RunError(file.string() + " changed while it was read");
}

bool is_sealed_as(const Row& row, std::size_t i) { return is_intact(row) && row.index == i; }

constexpr std::size_t rows_at_once = 256;

}  // namespace

RowsInFile::RowsInFile(System& system, const std::filesystem::path& file, std::uint64_t offset,
                       std::size_t count)
    : path_(file), in_(system, file, O_RDONLY), offset_(offset), count_(count) {}

void RowsInFile::read_unchecked(std::size_t first, std::span<Row> rows) const {
  if (!in_.read_at(offset_ + first * sizeof(Row), std::as_writable_bytes(rows)))
    refuse_changed_rows(path_);
}

void RowsInFile::read(std::size_t first, std::span<Row> rows) const {
  read_unchecked(first, rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!is_sealed_as(rows[i], first + i)) refuse_changed_rows(path_);
}

void RowsInFile::for_each_unchecked(
    const std::function<void(std::size_t i, const Row& row)>& take) const {
  std::vector<Row> part;
  for (std::size_t first = 0; first < count_; first += part.size()) {
    part.resize(std::min(rows_at_once, count_ - first));
    read_unchecked(first, part);
    for (std::size_t k = 0; k < part.size(); ++k) take(first + k, part[k]);
  }
}

void RowsInLog::read(std::size_t first, std::span<Row> rows) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t at = at_[first + i];
    if (at == 0) {
      rows[i] = pending_row(first + i, ids_[first + i]);
    } else if (!in_->read_at(at, std::as_writable_bytes(rows.subspan(i, 1))) ||
               !is_sealed_as(rows[i], first + i)) {
      refuse_changed_rows(path_);
    }
  }
}

RowList::RowList(std::shared_ptr<const RowSource> source)
    : source_(std::move(source)), size_(source_->count()) {}

Row RowList::Iterator::from_source() {
  if (at_ < part_begins_ || at_ >= part_begins_ + part_.size()) {
    part_.resize(std::min(rows_at_once, rows_->size_ - at_));
    rows_->source_->read(at_, part_);
    part_begins_ = at_;
  }
  return part_[at_ - part_begins_];
}

void RowList::leave_source() {
  if (!source_) return;
  RowList copy;
  for (const Row& row : *this) copy.push_back(row);
  *this = std::move(copy);
}

const Row RowList::operator[](std::size_t i) const {  // NOLINT(readability-const-return-type)
  if (source_) {
    Row row;
    source_->read(i, std::span(&row, 1));
    return row;
  }
  const Block& block = blocks_[i / rows_of_block];
  const std::size_t place = i % rows_of_block;
  return unpacked(block.bytes.data() + block.starts[place],
                  block.bytes.data() + block.starts[place + 1]);
}

void RowList::push_back(const Row& row) {
  leave_source();
  const std::size_t place = size_ % rows_of_block;
  if (place == 0) blocks_.emplace_back();
  Block& block = blocks_.back();
  pack(row, block.bytes);
  block.starts[place + 1] = static_cast<std::uint32_t>(block.bytes.size());
  ++size_;
  if (place + 1 == rows_of_block) block.bytes.shrink_to_fit();
}

void RowList::set(std::size_t i, const Row& row) {
  leave_source();
  Block& block = blocks_[i / rows_of_block];
  const std::size_t place = i % rows_of_block;
  std::vector<std::byte> packed;
  pack(row, packed);
  const auto from = block.bytes.begin() + block.starts[place];
  const std::uint32_t before = block.starts[place + 1] - block.starts[place];
  const auto now = static_cast<std::uint32_t>(packed.size());
  if (now > before) {
    block.bytes.insert(from + before, now - before, std::byte{0});
  } else {
    block.bytes.erase(from + now, from + before);
  }
  std::copy(packed.begin(), packed.end(), block.bytes.begin() + block.starts[place]);
  const std::size_t count = std::min(rows_of_block, size_ - i / rows_of_block * rows_of_block);
  for (std::size_t k = place + 1; k <= count; ++k) block.starts[k] += now - before;
}

}  // namespace wallheat::store
