#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "io/posix_file.hpp"
#include "store/results/row.hpp"

namespace wallheat::store {

/// Where the rows of a closed file are, to read them without HDF5: from several threads at once,
/// and when HDF5 has closed it.
class RowsInFile {
 public:
  /// `offset`: where the first begins. Throws SystemError.
  RowsInFile(const std::filesystem::path& file, std::uint64_t offset, std::size_t count,
             std::int32_t version);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Whatever the bytes are. Throws RunError if the file is too short for them.
  void read(std::size_t first, std::span<Row> rows) const;
  /// Throws RunError if one is not what was sealed as this row: it was when the file was opened.
  void read_intact(std::size_t first, std::span<Row> rows) const;

 private:
  [[noreturn]] void refuse() const;

  std::filesystem::path path_;
  PosixFile in_;
  std::uint64_t offset_;
  std::size_t count_;
  std::int32_t version_;
};

}  // namespace wallheat::store
