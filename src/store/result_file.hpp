#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/hdf5.hpp"
#include "store/journal.hpp"

// The result file. HDF5 writes it whole, under a temporary name, and closes it before it gets its
// name. From then on only rows are changed, each in its own bytes and without HDF5, so that any
// HDF5 program can open it at any moment. The layout: README.md.
namespace wallheat::store {

/// The version of result files and journals; others are refused.
inline constexpr std::int32_t format_version = 3;

/// All that a result file holds, but results.
struct FileHeader {
  FileId file_id = 0;
  FileId predecessor = 0;  ///< the file that this one replaced after a compaction
  /// The journals that --overwrite found and discarded, see below.
  std::vector<Attributes> replaced{};
  Attributes settings{};
  bool save_fields = false;
  std::vector<Attributes> sessions{};  ///< with the journals that were absorbed, see below

  /// True if the rooms of answers are kept.
  [[nodiscard]] bool keeps_rooms() const { return settings.contains("rooms_door"); }
  [[nodiscard]] bool has_rooms(const ResultRow& row) const {
    return keeps_rooms() && is_solved(status_of(row)) && status_of(row) != PlanStatus::empty;
  }
};

// Attributes in a result file identify a journal up to a size. The file has absorbed these results
// if they are attributes of a session, and discarded them if they are attributes of a group of
// /replaced.

inline constexpr const char* journal_file_id = "file_id";        ///< the journal's, hexadecimal
inline constexpr const char* journal_session_id = "session_id";  ///< random, written at its begin
inline constexpr const char* journal_bytes = "journal_bytes";    ///< its size when it was absorbed

/// IDs of the file, of its predecessor, and of all files that were compacted or merged into it.
[[nodiscard]] std::vector<FileId> absorbed_file_ids(const FileHeader& header);
/// Returns the attributes of a journal's session with those that identify the journal.
[[nodiscard]] Attributes session_of(const JournalReader& journal);
/// True if the file contains all results of a journal, as after a compaction that was killed before
/// it removed the journal.
[[nodiscard]] bool has_absorbed(const FileHeader& header, const JournalReader& journal);

/// Returns true if one of these identifies the journal and all that it contains.
[[nodiscard]] bool contains_journal(std::span<const Attributes> identities,
                                    const JournalReader& journal);

/// Names each difference between what two campaigns ask for, "tolerance: A has 1, B 2; ..." if `a`
/// and `b` are "A has" and "B"; empty if there is none.
[[nodiscard]] std::string differences(const FileHeader& first, const std::string& a,
                                      const FileHeader& second, const std::string& b);

/// The rooms as those of row i, with their checksums.
[[nodiscard]] std::vector<RoomResult> rooms_with_checksums(std::span<const RoomResult> rooms,
                                                           std::size_t i);
/// True if the room is as it was sealed.
[[nodiscard]] bool is_intact(const RoomResult& room);
/// True if these are the rooms of this row, as they were sealed, and none is missing.
[[nodiscard]] bool are_intact(std::span<const RoomResult> rooms, const ResultRow& row);

/// The dataset of a plan's field: /fields/ID, where "/" and "%", and the id ".", which HDF5 takes
/// for something else, are written as in an URL.
[[nodiscard]] std::string field_name(std::string_view id);

[[nodiscard]] FileId new_file_id();
[[nodiscard]] std::string to_text(FileId id);  ///< hexadecimal

/// Where a contiguous table lies in its file.
struct Table {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

// What reading and writing share.

inline constexpr const char* rows_name = "/rows";
inline constexpr const char* rooms_name = "/rooms";
inline constexpr const char* fields_name = "/fields";
inline constexpr const char* settings_name = "/settings";
inline constexpr const char* sessions_name = "/sessions";
inline constexpr const char* replaced_name = "/replaced";

/// Writes attributes of the groups NAME/0, NAME/1, ... of a new group.
void write_groups(const Handle& file, const std::string& name,
                  const std::vector<Attributes>& groups);
/// Reads what write_groups() has written; empty if there is no such group. Reads and subtracts at
/// most max_bytes, as many names may lead to one group.
[[nodiscard]] std::vector<Attributes> read_groups(const Handle& file, const std::string& name,
                                                  std::uint64_t& max_bytes);

/// The compound type of /rows: a Row, byte for byte, with named columns and an enum for the status.
[[nodiscard]] Handle make_row_type();
/// That of /rooms.
[[nodiscard]] Handle make_room_type();

/// What kind of file it is, and which.
void write_identity(const Handle& file, const FileHeader& header);
/// Throws RunError if it is no result file, or one of another format version.
void read_identity(const Handle& file, const std::filesystem::path& path, FileHeader& header);

/// Identity of a file that --overwrite may replace.
struct FileMark {
  bool is_result_file = false;     ///< wallheat wrote it, in any format version; may be damaged
  std::vector<FileId> file_ids{};  ///< its own and its predecessor's; empty if they are unreadable
  std::vector<Attributes> replaced{};  ///< as in FileHeader; empty if they are unreadable
};
/// Throws SystemError if the file cannot be read.
[[nodiscard]] FileMark read_mark(const std::filesystem::path& path);

/// An open result file. Several threads may read. Functions throw RunError or Hdf5Error.
class ResultFile {
 public:
  /// Throws RunError if there is none, it is none of wallheat's, or of another format version.
  explicit ResultFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return bytes_.path(); }
  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] std::size_t count() const { return rows_.count; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.size(); }
  /// Whether its name still leads to it: a fold puts another file in its place.
  [[nodiscard]] bool is_named() const { return bytes_.path_still_refers_here(); }

  /// As they lie there, whole or not.
  void read_rows(std::size_t first, std::span<ResultRow> rows) const;
  /// The rooms of row i that are there, whole or not.
  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t i) const;
  [[nodiscard]] std::uint32_t room_count(std::size_t i) const;
  /// The compressed bytes of a row's field; nothing if they are not there as the row says.
  [[nodiscard]] std::optional<std::vector<std::byte>> field(const ResultRow& row) const;

  /// Lets rows be written.
  void open_to_write();
  /// Writes a row for other programs; its journal has it already. Its status is written last, so
  /// that a reader of the status finds the row whole. Nothing less replaces an answer.
  void write_row(const ResultRow& row) const;
  /// For what wallheat does not know.
  [[nodiscard]] const Handle& hdf5() const { return file_; }

 private:
  void read_groups_of_header();
  [[nodiscard]] Table find(const char* name, const Handle& type) const;
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  const std::vector<std::uint32_t>& room_starts() const;

  File bytes_;  ///< the same file without HDF5
  Handle file_;
  FileHeader header_;
  Table rows_;
  Table rooms_;
  mutable std::mutex hdf5_;  ///< HDF5 is for one thread at a time
  mutable std::once_flag rooms_are_counted_;
  mutable std::vector<std::uint32_t> room_starts_;  ///< of plan i's first room; one more at the end
};

/// A result file that is being made, under a temporary name. Without finish() nothing is left.
class NewResultFile {
 public:
  /// For `count` plans. `room_counts`: how many rooms plan i has; empty if none has any. The file
  /// gets mode, owner and group of the one that it will replace.
  NewResultFile(const std::filesystem::path& path, const FileHeader& header, std::size_t count,
                std::span<const std::uint32_t> room_counts);
  NewResultFile(const NewResultFile&) = delete;
  NewResultFile& operator=(const NewResultFile&) = delete;
  ~NewResultFile();

  /// Each row once, in any order; neighbours one after the other are fastest. Rooms that are fewer
  /// than was said leave blank ones, of 0 cells.
  void put(const StoredResult& result);
  /// Copies what wallheat does not know from the root of another file.
  void copy_foreign_objects_from(const ResultFile& old) { copy_foreign_objects(old.hdf5(), file_); }
  /// Syncs the file and then gives it its name, durably. Calls before_it_has_its_name() in between.
  void finish(const std::function<void()>& before_it_has_its_name = {});

 private:
  void create(const FileHeader& header, std::size_t count);
  void write_field(const ResultRow& row, std::span<const std::byte> chunk);
  void flush_rows();
  void discard();

  SuppressHdf5Errors quiet_;
  std::filesystem::path path_, temporary_;
  Handle file_;
  Handle fields_;
  std::optional<File> bytes_;
  std::uint64_t rows_at_ = 0;
  std::uint64_t rooms_at_ = 0;
  std::vector<std::uint32_t> room_starts_;
  std::vector<ResultRow> rows_;  ///< neighbours that are not written yet
};

}  // namespace wallheat::store
