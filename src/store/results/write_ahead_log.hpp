#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file_names.hpp"
#include "io/posix_file.hpp"
#include "store/results/environment.hpp"
#include "store/results/snapshot.hpp"

namespace wallheat::store {

/// A row on its way to the HDF5 file, with the place of its field there.
struct LoggedRow {
  Offset offset = -1;  ///< -1: it has none
  Row row;
};

/// The log FILE.wal of a session. It begins with everything that the file holds (the bytes of
/// fields aside), so that the HDF5 file can be built anew from it. Each append is one write and one
/// sync, after which a batch counts as stored. (Of one that was cut short, what is whole holds
/// too.)
class LogWriter {
 public:
  /// Writes the log's beginning beside the old log and puts it in its place.
  LogWriter(const StoreEnvironment& env, const std::filesystem::path& file,
            const Snapshot& snapshot);

  /// On return the rows survive anything, and so do their rooms, each plan's one after the other.
  void append(std::span<const LoggedRow> rows, std::span<const RoomResult> rooms = {});
  void append_session(std::size_t number, const Attributes& session);

 private:
  void commit();

  std::optional<PosixFile> out_;
  std::string batch_;  ///< what is to be written
};

/// What a log says.
struct LogReading {
  Snapshot snapshot;
  std::vector<std::size_t> stored_here;  ///< rows that were stored after the log's beginning
  std::vector<std::size_t>
      damaged_rows;      ///< whose records were damaged; something else may say more
  std::string damage;    ///< a clause where something was cut off or left out; else empty
  bool damaged = false;  ///< not merely cut off, as by a kill or by reading during a write
};

/// Reads what is whole and leaves out damaged records. What the log begins with, identity, settings
/// and ids, is taken from `in_file`, the snapshot of the HDF5 file beside it, where it is damaged
/// and the rest shows that the two belong together. Nothing if that fails. Throws RunError where
/// the log is of another format version.
[[nodiscard]] std::optional<LogReading> read_log(const StoreEnvironment& env,
                                                 const std::filesystem::path& file,
                                                 const Snapshot* in_file = nullptr);

/// The file id that a log names; empty if there is none or it cannot be read.
[[nodiscard]] std::string logged_file_id(const StoreEnvironment& env,
                                         const std::filesystem::path& file);

}  // namespace wallheat::store
