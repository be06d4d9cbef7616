#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "store/results/hdf5_file.hpp"
#include "store/results/snapshot.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat::store {

/// Which slot each row's field has or had, and which are free.
class FieldSlots {
 public:
  FieldSlots() = default;
  explicit FieldSlots(const Snapshot& snapshot);

  /// The slot for row i's field of this shape: the one it had, or the lowest that is free. Nothing
  /// where the file was made without room for such a field.
  [[nodiscard]] std::optional<std::int64_t> assign(std::size_t i, GridShape shape);

 private:
  struct Pool {
    std::uint64_t capacity = 0;
    std::unordered_set<std::int64_t> used;
    std::int64_t first_maybe_free = 0;
  };
  struct Slot {
    GridShape shape;
    std::int64_t number = -1;
  };
  std::map<GridShape, Pool> pools_;
  std::vector<Slot> slots_;  // of row i; empty without fields
};

/// A file that is being written: the log and the open HDF5 file, in step.
class Session {
 public:
  /// Begins the log, brings the closed file up to date, and opens it for writing with readers
  /// allowed. `snapshot`, of which sessions and offsets may change, is not needed afterwards.
  Session(StoreEnvironment env, std::filesystem::path file, Snapshot& snapshot);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const TextList& ids() const { return ids_; }
  /// Returns the rows that it had to store as failed instead.
  [[nodiscard]] std::vector<PlanResult> store(std::span<const PlanResult> results);
  /// Gives rows the stamps of `results`, and changes nothing else of them.
  void restamp(std::span<const PlanResult> results);
  void publish();
  /// Leaves one closed HDF5 file and no log.
  void close(const Attributes& end);

 private:
  void write_rows();
  /// False if the field has no place; the row is a failed one then.
  bool write_field(const PlanResult& result, LoggedRow& logged);

  StoreEnvironment env_;
  std::filesystem::path path_;
  bool save_fields_;
  TextList ids_;
  std::vector<Attributes> sessions_;
  FieldSlots slots_;
  std::optional<LogWriter> log_;
  Handle file_;
  std::optional<RowTable> rows_;
  std::optional<FieldTables> fields_;
  std::vector<LoggedRow> batch_;
  std::vector<std::byte> padded_;
  bool unpublished_ = false;
  std::chrono::steady_clock::time_point published_;
  bool given_up_ = true;  // until the file is open, and again after a failed write
};

}  // namespace wallheat::store
