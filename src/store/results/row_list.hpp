#pragma once

#include <fcntl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/id_list.hpp"
#include "io/posix_file.hpp"
#include "store/row.hpp"

namespace wallheat::store {

/// Where rows come from that are not in memory. Several threads may ask at once.
class RowSource {
 public:
  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  [[nodiscard]] virtual std::size_t count() const = 0;
  virtual void read(std::size_t first, std::span<Row> rows) const = 0;
};

/// The rows of an HDF5 file, without HDF5. To read one that is not what was sealed as this row
/// throws RunError: it was when the file was opened.
class RowsInFile final : public RowSource {
 public:
  /// `offset`: where the first begins. Throws SystemError.
  RowsInFile(System& system, const std::filesystem::path& file, std::uint64_t offset,
             std::size_t count);

  [[nodiscard]] std::size_t count() const override { return count_; }
  void read(std::size_t first, std::span<Row> rows) const override;
  /// Whatever the bytes are. Throws RunError if the file is too short for them.
  void read_unchecked(std::size_t first, std::span<Row> rows) const;
  /// The same of all rows, some in memory at a time.
  void for_each_unchecked(const std::function<void(std::size_t i, const Row& row)>& take) const;

 private:
  std::filesystem::path path_;
  PosixFile in_;
  std::uint64_t offset_;
  std::size_t count_;
};

/// Rows that lie anywhere in a log, and pending ones. The log may be replaced or removed meanwhile.
class RowsInLog final : public RowSource {
 public:
  /// A pending row for each id.
  explicit RowsInLog(TextList ids) : ids_(std::move(ids)), at_(ids_.size()) {}
  /// `at`: where the row of each id begins; 0: it is pending.
  RowsInLog(System& system, const std::filesystem::path& log, std::vector<std::uint64_t> at,
            TextList ids)
      : ids_(std::move(ids)),
        at_(std::move(at)),
        path_(log),
        in_(std::in_place, system, log, O_RDONLY) {}

  [[nodiscard]] std::size_t count() const override { return ids_.size(); }
  void read(std::size_t first, std::span<Row> rows) const override;

 private:
  TextList ids_;
  std::vector<std::uint64_t> at_;
  std::filesystem::path path_;
  std::optional<PosixFile> in_;
};

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
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }

 private:
  /// Takes all rows into memory.
  void leave_source();

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
