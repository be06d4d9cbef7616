#pragma once

#include <fcntl.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "core/id_list.hpp"
#include "io/posix_file.hpp"
#include "store/results/row.hpp"

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

/// The rows of a closed file, without HDF5. To read one that is not what was sealed as this row
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

 private:
  [[noreturn]] void refuse() const;

  std::filesystem::path path_;
  PosixFile in_;
  std::uint64_t offset_;
  std::size_t count_;
};

/// Rows that lie anywhere in a log, and pending ones. The log may be replaced or removed meanwhile.
class RowsInLog final : public RowSource {
 public:
  /// `at`: where the row of each id begins; 0: it is pending.
  RowsInLog(System& system, const std::filesystem::path& log, std::vector<std::uint64_t> at,
            TextList ids)
      : path_(log), in_(system, log, O_RDONLY), at_(std::move(at)), ids_(std::move(ids)) {}

  [[nodiscard]] std::size_t count() const override { return ids_.size(); }
  void read(std::size_t first, std::span<Row> rows) const override;

 private:
  std::filesystem::path path_;
  PosixFile in_;
  std::vector<std::uint64_t> at_;
  TextList ids_;
};

/// A pending row for each id.
class PendingRows final : public RowSource {
 public:
  explicit PendingRows(TextList ids) : ids_(std::move(ids)) {}

  [[nodiscard]] std::size_t count() const override { return ids_.size(); }
  void read(std::size_t first, std::span<Row> rows) const override;

 private:
  TextList ids_;
};

}  // namespace wallheat::store
