#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wallheat/plan_result.hpp"

namespace wallheat {

/// Names and values that are stored as HDF5 string attributes.
using Attributes = std::map<std::string, std::string>;

/// Reads a result file without changing it, whether it is finished, stopped, killed, or being
/// written: the rows of the HDF5 file, overlaid by the results in its journals. Const functions are
/// thread-safe.
class ResultReader {
 public:
  /// Throws RunError if the file cannot be read, or is not a result file.
  explicit ResultReader(const std::filesystem::path& file);
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) noexcept;
  ResultReader(const ResultReader&) = delete;
  ResultReader& operator=(const ResultReader&) = delete;
  ~ResultReader();

  /// Returns all rows in the order of the IDs, pending ones included, without fields and rooms.
  /// Keeps them in memory.
  [[nodiscard]] const std::vector<PlanResult>& rows() const;
  /// Returns the number of rows.
  [[nodiscard]] std::size_t count() const;
  /// Returns one row, or calls take() with each row, without keeping them in memory. Both throw
  /// RunError if the file has changed.
  [[nodiscard]] PlanResult row(std::size_t index) const;
  void for_each_row(const std::function<void(const PlanResult&)>& take) const;
  [[nodiscard]] const Attributes& settings() const;
  /// Returns the attributes of each session (the first run, and each resume or merge), oldest
  /// first.
  [[nodiscard]] const std::vector<Attributes>& sessions() const;
  /// Returns the indices, in ascending order, of rows that are damaged, or whose field or rooms are
  /// lost. These rows are pending in rows().
  [[nodiscard]] const std::vector<std::size_t>& damaged_rows() const;
  /// Returns the field of row `index` in °C; nullopt if it was not stored. Throws RunError if the
  /// field is damaged.
  [[nodiscard]] std::optional<Grid<double>> field(std::size_t index) const;
  /// Returns true if the file stores the rooms of its results.
  [[nodiscard]] bool has_rooms() const;
  /// Returns the rooms of row `index` in order; an empty list if the plan is not solved, or has no
  /// interior cells. Throws RunError if the rooms are damaged, or if the file has changed.
  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t index) const;
  /// Returns false if the last writer did not close the file: it is still running, or it was
  /// killed.
  [[nodiscard]] bool closed_cleanly() const;
  /// Returns true if the HDF5 file contains all results, so that other programs see all of them.
  /// Otherwise a session that is running, or was stopped or killed, has results in its journal.
  [[nodiscard]] bool is_compacted() const;
  /// Returns a message for each type of damage that was found, with the IDs of some plans that are
  /// pending because of it. The checksum of a field is verified only when the field is read.
  [[nodiscard]] const std::vector<std::string>& damage_messages() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wallheat
