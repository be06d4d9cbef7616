#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "store/result_row.hpp"
#include "wallheat/result_reader.hpp"

// FILE.walK is the journal of session K: an append-only write-ahead log of the session's results.
// A result is acknowledged when its record is in the journal and synced. Compaction (see
// snapshot.hpp) writes the results of the journals into a new result file. README.md describes the
// format.

namespace wallheat::store {

/// Random ID of a result file. 0 is not a valid ID.
using FileId = std::uint64_t;

/// A result in its stored form.
struct StoredResult {
  ResultRow row{};
  std::vector<RoomResult> rooms{};
  std::vector<std::byte> field{};  ///< compressed
};

/// Throws RunError, because a file or journal changed while it was read.
[[noreturn]] void throw_changed(const std::filesystem::path& path);

enum class RecordKind : std::uint32_t;
struct Record;

/// Writes a journal. All functions throw SystemError if a system call fails. After an exception,
/// only the destructor may be called. Not thread-safe.
class JournalWriter {
 public:
  /// Creates the journal of session `number` of the result file with this ID, and syncs it. If
  /// journals with this or a higher number exist, the new journal has the next higher number.
  JournalWriter(const std::filesystem::path& result_file, std::size_t number, FileId file_id,
                const Attributes& session);

  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }
  /// Adds a result to the batch. The row must contain its checksum, and the size and the checksum
  /// of the field.
  void add(const ResultRow& row, std::span<const RoomResult> rooms,
           std::span<const std::byte> field);
  /// Adds the attributes of the session that are known at its end.
  void add_end(const Attributes& end);
  /// Writes the batch, normally with one system call, and syncs it. When this returns, the batch
  /// survives a crash and a power loss. Throws RunError if the journal was fenced meanwhile,
  /// because then the results of the batch may be missing in the compacted file.
  void commit();
  /// Throws RunError if path() no longer refers to the journal.
  void require_named() const;
  /// Removes the journal, unless one with a higher number exists: a gap in the numbers would look
  /// like a lost journal. A higher number exists if another process did not see the lock of this
  /// process.
  void remove();

 private:
  void add_record(RecordKind kind, std::span<const std::byte> payload,
                  std::span<const std::byte> field);
  void flush();

  std::size_t number_;
  File file_;
  FileId file_id_;
  std::vector<std::byte> batch_;
};

/// Position of a result in a journal.
struct JournalEntry {
  std::uint64_t offset = 0;  ///< offset of its row, in bytes
  std::uint32_t rooms = 0;   ///< number of rooms between the row and the field
  /// Position of the journal in the list of Snapshot, from 1; 0: the row is in no journal.
  std::uint32_t journal_position = 0;
};

/// Reads the intact records of a journal.
class JournalReader {
 public:
  explicit JournalReader(File file) : file_(std::move(file)) {}

  /// Calls take() with each row, in the order in which the rows were stored. Verifies the checksums
  /// of rooms, and skips fields.
  void scan(const std::function<void(const ResultRow& row, const JournalEntry& entry)>& take);
  /// Reads the first intact record only.
  void scan_identity();

  [[nodiscard]] const File& file() const { return file_; }
  // Results of scan() or scan_identity().

  [[nodiscard]] FileId file_id() const { return file_id_; }     ///< 0: no intact record exists
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  ///< size of the file
  /// Returns true if the file contains an intact record, begins like a journal of wallheat, or
  /// contains only zeros, as a journal does after a power loss. Any other file belongs to the user
  /// and only has the name of a journal.
  [[nodiscard]] bool is_journal() const { return is_journal_; }
  [[nodiscard]] const Attributes& session() const { return session_; }
  /// Returns true if the session wrote its end record, so that its writer was not killed.
  [[nodiscard]] bool ended_cleanly() const { return has_ended_; }
  /// Returns true if there are damaged bytes before the last intact record. An incomplete record at
  /// the end is not damage: a kill leaves one.
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }

  /// Returns the row, or the rooms, of an entry. Throws RunError if the bytes have changed since
  /// scan().
  [[nodiscard]] ResultRow row(const JournalEntry& entry) const;
  [[nodiscard]] std::vector<RoomResult> rooms(const JournalEntry& entry) const;
  /// Returns the compressed field of an entry. Does not verify its checksum.
  [[nodiscard]] std::vector<std::byte> field(const JournalEntry& entry, const ResultRow& row) const;

 private:
  void scan_records(const std::function<bool(const Record& record, std::uint64_t offset)>& take);

  File file_;
  FileId file_id_ = 0;
  std::uint64_t bytes_ = 0;
  Attributes session_;
  bool is_journal_ = false;
  bool has_ended_ = false;
  bool is_damaged_ = false;
};

/// Calls visit() with each journal of a result file, including fenced journals, from the last to
/// the first, after scan_identity(). Skips journals that disappear meanwhile.
void for_each_journal(
    const std::filesystem::path& file,
    const std::function<void(const std::filesystem::path& name, JournalReader& journal)>& visit);

/// Returns true if a journal belongs to a file with one of these IDs, or if it contains no record
/// because its writer was killed. Returns false for a file of the user.
[[nodiscard]] bool belongs_to(const JournalReader& journal, std::span<const FileId> file_ids);

}  // namespace wallheat::store
