#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "store/row.hpp"
#include "wallheat/result_reader.hpp"

// A session's results on their way into the result file: FILE.walK is the journal of session K. It
// is only ever appended to, and is records one after the other, see README.md.
namespace wallheat::store {

/// Tells result files apart; 0 is none.
using FileId = std::uint64_t;

/// A result as it is stored.
struct StoredResult {
  Row row{};
  std::vector<RoomResult> rooms{};
  std::vector<std::byte> field{};  ///< compressed
};

enum class RecordKind : std::uint32_t;

/// Writes a journal. Every function throws SystemError; after that only the destructor may follow.
class JournalWriter {
 public:
  /// Makes the journal of session `number`, or of a later one if there are such, for the result
  /// file with this id, and makes it durable.
  JournalWriter(const std::filesystem::path& file, std::size_t number, FileId file_id,
                const Attributes& session);

  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }
  /// Adds a result to the batch. The row must be sealed, and say of the field what it is.
  void add(const Row& row, std::span<const RoomResult> rooms, std::span<const std::byte> field);
  /// Adds what is to be said of the session at its end.
  void add_end(const Attributes& end);
  /// Writes the batch, normally in one call, and syncs it: on return it survives anything. Throws
  /// RunError if the journal was taken away meanwhile: what was added may not be in the file.
  void commit();
  /// Unless one of another process that did not see this one lies behind it: that would be a gap.
  void remove();

 private:
  JournalWriter(std::pair<File, std::size_t> made, FileId file_id);
  void add_record(RecordKind kind, std::span<const std::byte> payload,
                  std::span<const std::byte> field);
  void flush();

  File file_;
  std::size_t number_;
  FileId file_id_;
  std::vector<std::byte> batch_;
};

/// Where a result is in its journal.
struct JournalEntry {
  std::uint64_t offset = 0;  ///< of its row
  std::uint32_t rooms = 0;   ///< how many follow the row, before the field
};

/// Reads a journal as far as its records are whole.
class JournalReader {
 public:
  explicit JournalReader(File file) : file_(std::move(file)) {}

  /// Hands over every row, in the order in which they were stored. Rooms are checked but not kept,
  /// fields are skipped.
  void scan(const std::function<void(const Row& row, const JournalEntry& entry)>& take);

  [[nodiscard]] const File& file() const { return file_; }
  // What scan() found besides.
  [[nodiscard]] FileId file_id() const { return file_id_; }  ///< 0: there is no whole record
  [[nodiscard]] const Attributes& session() const { return session_; }
  [[nodiscard]] bool has_ended() const { return has_ended_; }    ///< and was not killed
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }  ///< not only cut short by a kill

  /// Throws RunError if it is not as it was scanned.
  [[nodiscard]] Row row(const JournalEntry& entry) const;
  [[nodiscard]] std::vector<RoomResult> rooms(const JournalEntry& entry) const;
  /// Not compared with its checksum.
  [[nodiscard]] std::vector<std::byte> field(const JournalEntry& entry, const Row& row) const;

 private:
  [[noreturn]] void refuse_changed() const;

  File file_;
  FileId file_id_ = 0;
  Attributes session_;
  bool has_ended_ = false;
  bool is_damaged_ = false;
};

}  // namespace wallheat::store
