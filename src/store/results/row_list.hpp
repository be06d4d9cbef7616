#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "store/results/row.hpp"

namespace wallheat::store {

/// Rows in memory, bit for bit as they are given, without their zeros: most of a row is unused
/// text. A pending row takes about a tenth of sizeof(Row), a solved one less than half. A row is
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
    Row operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {*rows_, at_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const RowList* rows_;
    std::size_t at_;
  };

  [[nodiscard]] std::size_t size() const { return size_; }
  // NOLINTNEXTLINE(readability-const-return-type): so that nobody assigns to what is a copy
  [[nodiscard]] const Row operator[](std::size_t i) const;
  void set(std::size_t i, const Row& row);
  void push_back(const Row& row);
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

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace wallheat::store
