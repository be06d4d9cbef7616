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

// The result file. HDF5 writes a complete file under a temporary name and closes it; then it is
// renamed. Afterwards only rows are modified, in place and without HDF5, so any HDF5 program can
// open the file at any time. README.md describes the layout.
namespace wallheat::store {

/// Version of the format of result files and journals. Files with another version are rejected.
inline constexpr std::int32_t format_version = 3;

/// The contents of a result file except for results.
struct FileHeader {
  FileId file_id = 0;
  FileId predecessor = 0;  ///< ID of the file that a compaction replaced by this one; 0: none
  /// Attributes that identify the journals that --overwrite discarded; see below.
  std::vector<Attributes> replaced{};
  Attributes settings{};
  bool save_fields = false;
  std::vector<Attributes> sessions{};  ///< include the attributes that identify absorbed journals

  /// Returns true if the file stores the rooms of its results.
  [[nodiscard]] bool keeps_rooms() const { return settings.contains("rooms_door"); }
  /// Returns true if a program of the user has solved the plans.
  [[nodiscard]] bool has_solver_command() const { return settings.contains("solver_command"); }
  [[nodiscard]] bool has_rooms(const ResultRow& row) const {
    return keeps_rooms() && is_solved(status_of(row)) && status_of(row) != PlanStatus::empty;
  }
};

// Attributes in a result file identify the contents of a journal up to a size. The file has
// absorbed these results if the attributes are those of a session, and discarded them if they are
// those of a group of /replaced.

inline constexpr const char* journal_file_id = "file_id";        ///< ID in the journal, hexadecimal
inline constexpr const char* journal_session_id = "session_id";  ///< random number of the journal
inline constexpr const char* journal_bytes = "journal_bytes";    ///< its size when it was absorbed

/// Returns the IDs of the file, of its predecessor, and of all files that were compacted or merged
/// into it.
[[nodiscard]] std::vector<FileId> absorbed_file_ids(const FileHeader& header);
/// Returns the attributes of a journal's session, with those that identify the journal.
[[nodiscard]] Attributes session_of(const JournalReader& journal);
/// Returns true if the file contains all results of a journal, as after a compaction that was
/// killed before it removed the journal.
[[nodiscard]] bool has_absorbed(const FileHeader& header, const JournalReader& journal);

/// Returns true if one of `identities` identifies the journal and all of its contents.
[[nodiscard]] bool contains_journal(std::span<const Attributes> identities,
                                    const JournalReader& journal);

/// Returns a list of the differences between the settings of two campaigns, such as "--tolerance: A
/// has 1, B 2; ..." if `a` and `b` are "A has" and "B". Settings have the names of their options.
/// Returns an empty string if there is no difference.
[[nodiscard]] std::string differences(const FileHeader& first, const std::string& a,
                                      const FileHeader& second, const std::string& b);

/// Returns the rooms with i as their row index, and with their checksums.
[[nodiscard]] std::vector<RoomResult> rooms_with_checksums(std::span<const RoomResult> rooms,
                                                           std::size_t i);
/// Returns true if the checksum of the room matches.
[[nodiscard]] bool is_intact(const RoomResult& room);
/// Returns true if these are all rooms of this row, and their checksums match.
[[nodiscard]] bool are_intact(std::span<const RoomResult> rooms, const ResultRow& row);

/// Returns the name of the dataset of a plan's field: /fields/ID. The characters "/" and "%", and
/// the ID ".", which have another meaning in HDF5, are percent-encoded as in URLs.
[[nodiscard]] std::string field_name(std::string_view id);

/// Returns a new random ID.
[[nodiscard]] FileId new_file_id();
/// Returns the ID as 16 hexadecimal digits.
[[nodiscard]] std::string to_text(FileId id);

/// Position of a contiguous dataset in its file.
struct Table {
  std::uint64_t offset = 0;  ///< bytes
  std::uint64_t count = 0;   ///< elements
};

// The layout, shared by reading and writing.

inline constexpr const char* rows_name = "/rows";
inline constexpr const char* rooms_name = "/rooms";
inline constexpr const char* fields_name = "/fields";
inline constexpr const char* settings_name = "/settings";
inline constexpr const char* sessions_name = "/sessions";
inline constexpr const char* replaced_name = "/replaced";

/// Writes attributes to the groups NAME/0, NAME/1, ... of a new group.
void write_groups(const Handle& file, const std::string& name,
                  const std::vector<Attributes>& groups);
/// Returns the attributes that write_groups() has written; an empty list if the group does not
/// exist. Reads at most max_bytes, and subtracts the number of bytes from it. The limit covers all
/// groups together, because many links may refer to one group.
[[nodiscard]] std::vector<Attributes> read_groups(const Handle& file, const std::string& name,
                                                  std::uint64_t& max_bytes);

/// Returns the compound type of /rows: a ResultRow, byte for byte, with named columns and an enum
/// for the status.
/// Only rows of solver commands have the status convergence_unknown: the rows of other files have
/// the type that earlier versions require.
[[nodiscard]] Handle make_row_type(const FileHeader& header);
/// Returns the compound type of /rooms.
[[nodiscard]] Handle make_room_type();

/// Writes the attributes that identify a result file: the mark of wallheat, the format version, the
/// ID of the file and that of its predecessor.
void write_identity(const Handle& file, const FileHeader& header);
/// Reads these attributes. Throws RunError if the file is not a result file, or has another format
/// version.
void read_identity(const Handle& file, const std::filesystem::path& path, FileHeader& header);

/// Identity of a file that --overwrite may replace.
struct FileMark {
  bool is_result_file = false;     ///< wallheat wrote it, in any format version; may be damaged
  std::vector<FileId> file_ids{};  ///< its own and its predecessor's; empty if they are unreadable
  std::vector<Attributes> replaced{};  ///< as in FileHeader; empty if they are unreadable
};
/// Reads the identity of a file, also if the file is damaged. Throws SystemError if the file cannot
/// be read.
[[nodiscard]] FileMark read_mark(const std::filesystem::path& path);

/// An open result file, without its journals. Several threads may read at the same time. Functions
/// throw RunError or Hdf5Error.
class ResultFile {
 public:
  /// Opens a file. Throws RunError if it does not exist, if it is not a result file, or if it has
  /// another format version.
  explicit ResultFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return bytes_.path(); }
  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] std::size_t count() const { return rows_.count; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.size(); }
  /// Returns false if another file has this file's name now, as after a compaction.
  [[nodiscard]] bool is_named() const { return bytes_.path_still_refers_here(); }
  /// Writes a copy of the open file to path(), and returns true. Returns false if another file has
  /// this path. Throws SystemError.
  [[nodiscard]] bool write_again_if_missing() const;

  /// Reads rows without verifying their checksums.
  void read_rows(std::size_t first, std::span<ResultRow> rows) const;
  /// Reads the rooms of row i without verifying their checksums.
  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t i) const;
  [[nodiscard]] std::uint32_t room_count(std::size_t i) const;
  /// Returns the compressed bytes of a row's field. Returns nullopt if the file has no field of the
  /// size and checksum that the row states.
  [[nodiscard]] std::optional<std::vector<std::byte>> field(const ResultRow& row) const;

  /// Opens the file for write_row().
  void open_to_write();
  /// Writes a row in place, so that other programs see it; the journal contains it already. The
  /// status is written last, so a program that reads the new status reads a complete row. Does not
  /// replace a solved row by a pending or failed one.
  void write_row(const ResultRow& row) const;
  /// Returns the HDF5 file, to access objects that are not wallheat's.
  [[nodiscard]] const Handle& hdf5() const { return file_; }

 private:
  void read_groups_of_header();
  [[nodiscard]] Table find(const char* name, const Handle& type) const;
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  const std::vector<std::uint32_t>& room_starts() const;

  File bytes_;  ///< the same file, accessed without HDF5
  Handle file_;
  FileHeader header_;
  Table rows_;
  Table rooms_;
  mutable std::mutex hdf5_;  ///< HDF5 is not thread-safe
  mutable std::once_flag rooms_are_counted_;
  /// Index in /rooms of the first room of row i; the last element is the number of all rooms.
  mutable std::vector<std::uint32_t> room_starts_;
};

/// Creates a result file under a temporary name. The destructor removes it unless finish() was
/// called.
class NewResultFile {
 public:
  /// Creates a file for `count` plans. `room_counts` has the number of rooms of each row; it is
  /// empty if no row has rooms. The file gets the mode, owner and group of the file that it will
  /// replace.
  NewResultFile(const std::filesystem::path& path, const FileHeader& header, std::size_t count,
                std::span<const std::uint32_t> room_counts);
  NewResultFile(const NewResultFile&) = delete;
  NewResultFile& operator=(const NewResultFile&) = delete;
  ~NewResultFile();

  /// Writes a result. Call this once per row, in any order; ascending order is fastest. If the
  /// result has fewer rooms than room_counts states, the remaining ones have 0 cells.
  void put(const StoredResult& result);
  /// Copies objects and attributes of another file's root group that wallheat did not write.
  void copy_foreign_objects_from(const ResultFile& old) { copy_foreign_objects(old.hdf5(), file_); }
  /// Syncs the file, calls before_it_has_its_name(), renames the file, and syncs the directory.
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
  std::vector<ResultRow> rows_;  ///< consecutive rows that are not written yet
};

}  // namespace wallheat::store
