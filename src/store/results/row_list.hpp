#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <vector>

#include "store/results/row.hpp"
#include "store/results/rows_in_file.hpp"

namespace wallheat::store {

/// Rows in memory, bit for bit as they are given, without their zeros: most of a row is unused
/// text. A pending row takes about a tenth of sizeof(Row), a solved one less than half. Or the rows
/// of a closed file, which are read when they are asked for, until one is to be changed. A row is
/// given as a value; to change one is to set it.
class RowList {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    using pointer = const Row*;
    using reference = Row;
    Iterator(const RowList& rows, std::size_t at) : rows_(&rows), at_(at) {}
    Row operator*() { return rows_->file_ ? from_file() : (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    /// Reads some rows at a time.
    Row from_file();

    const RowList* rows_;
    std::size_t at_;
    std::vector<Row> part_;
    std::size_t part_begins_ = 0;
  };

  RowList() = default;
  explicit RowList(std::shared_ptr<const RowsInFile> file);

  [[nodiscard]] std::size_t size() const { return size_; }
  // NOLINTNEXTLINE(readability-const-return-type): so that nobody assigns to what is a copy
  [[nodiscard]] const Row operator[](std::size_t i) const;
  void set(std::size_t i, const Row& row);
  void push_back(const Row& row);
  /// Takes all rows into memory: to be called before the file is changed.
  void leave_file();
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }

 private:
  /// Neighbours share a block, so that to set a row moves few others, and none is an allocation of
  /// its own.
  static constexpr std::size_t rows_of_block = 64;
  struct Block {
    std::vector<std::byte> bytes;
    std::array<std::uint32_t, rows_of_block + 1> starts{};  ///< row k is from starts[k] on
  };

  std::shared_ptr<const RowsInFile> file_;  ///< none: in blocks_
  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace wallheat::store
