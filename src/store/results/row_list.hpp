#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/results/row.hpp"
#include "store/results/row_source.hpp"

namespace wallheat::store {

/// Rows in memory, bit for bit as they are given, without their zeros: most of a row is unused
/// text. A pending row takes about a tenth of sizeof(Row), a solved one less than half. Or the rows
/// of a source, which are not in memory until one is to be changed. A row is given as a value; to
/// change one is to set it.
class RowList {
 public:
  /// For loops. Algorithms of the library copy iterators, and with this one the rows that it has
  /// read ahead.
  class Iterator {
   public:
    Iterator(const Iterator&) = delete;
    Iterator& operator=(const Iterator&) = delete;
    Iterator(Iterator&&) = default;
    Iterator& operator=(Iterator&&) = default;
    ~Iterator() = default;
    Iterator(const RowList& rows, std::size_t at) : rows_(&rows), at_(at) {}
    Row operator*() { return rows_->source_ ? from_source() : (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    /// Reads some rows at a time.
    Row from_source();

    const RowList* rows_;
    std::size_t at_;
    std::vector<Row> part_;
    std::size_t part_begins_ = 0;
  };

  RowList() = default;
  explicit RowList(std::shared_ptr<const RowSource> source);

  [[nodiscard]] std::size_t size() const { return size_; }
  // NOLINTNEXTLINE(readability-const-return-type): so that nobody assigns to what is a copy
  [[nodiscard]] const Row operator[](std::size_t i) const;
  void set(std::size_t i, const Row& row);
  void push_back(const Row& row);
  /// Takes all rows into memory: to be called before the file that they are in is changed.
  void leave_source();
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

  std::shared_ptr<const RowSource> source_;  ///< none: in blocks_
  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace wallheat::store
