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

/// Named facts that are kept as HDF5 string attributes.
using Attributes = std::map<std::string, std::string>;

/// Reads a finished, stopped, killed or currently written result file without changing anything:
/// the rows of the HDF5 file, overlaid by the results in the journals beside it.
class ResultReader {
 public:
  explicit ResultReader(const std::filesystem::path& file);
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) noexcept;
  ResultReader(const ResultReader&) = delete;
  ResultReader& operator=(const ResultReader&) = delete;
  ~ResultReader();

  /// All rows in the order of the ids, pending ones included; fields left out. They stay in memory.
  [[nodiscard]] const std::vector<PlanResult>& rows() const;
  /// The same without keeping them: how many there are, one, and all one after the other. Several
  /// threads may ask. Throws RunError if the file has changed.
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] PlanResult row(std::size_t index) const;
  void for_each_row(const std::function<void(const PlanResult&)>& take) const;
  [[nodiscard]] const Attributes& settings() const;
  /// One entry per session (first run, each resume), oldest first.
  [[nodiscard]] const std::vector<Attributes>& sessions() const;
  /// The rows, ascending, that were found damaged, or without the field or rooms that they should
  /// have; they are pending among rows().
  [[nodiscard]] const std::vector<std::size_t>& damaged_rows() const;
  /// The field of row `index` in °C; nothing if none was stored. Several threads may ask. Throws
  /// RunError if its checksum is wrong or it cannot be unpacked.
  [[nodiscard]] std::optional<Grid<double>> field(std::size_t index) const;
  /// Whether the answers have rooms.
  [[nodiscard]] bool has_rooms() const;
  /// The rooms of row `index` in order; none if it has no answer or no interior. Several threads
  /// may ask. Throws RunError if they are damaged or the file has changed.
  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t index) const;
  /// False if the last writer did not close the file (it lives, or it was killed).
  [[nodiscard]] bool closed_cleanly() const;
  /// True if the HDF5 file alone holds everything, so that other programs see all of it. A session
  /// that was stopped, killed or still goes on has results in its journal.
  [[nodiscard]] bool is_compacted() const;
  /// One sentence for each kind of damage that was found: plans that are pending for it, and the
  /// first few of their ids. Fields are compared with their checksums only when they are read.
  [[nodiscard]] const std::vector<std::string>& damage_messages() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wallheat
