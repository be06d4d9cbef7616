#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/plan_ids.hpp"
#include "store/result_file.hpp"
#include "store/write_lock.hpp"

namespace wallheat::store {

/// Damage that was found in a file or its journals.
struct Damage {
  std::vector<std::string> messages{};  ///< without the name of the file
  std::vector<std::size_t> lost{};      ///< rows that are pending because of it, ascending

  /// Adds `rows` and a message such as "2 rows were damaged; pending again: "a", "b"". Does nothing
  /// if `rows` is empty.
  void add(const std::string& noun, const std::string& what, const std::vector<std::size_t>& rows,
           const StringList& ids);
};

/// Rows that were loaded, but whose rooms or field are missing or damaged.
struct MissingData {
  std::vector<std::size_t> rooms, fields;
};

/// Returns the first few IDs in quotes, and the number of the others.
[[nodiscard]] std::string join_first_ids(const std::vector<std::string>& ids);

/// Which journals a snapshot includes: all, or only fenced ones, to which their writers cannot
/// append.
enum class JournalSet { all, fenced };

/// A consistent view of a result file and its journals at one moment: the rows of the file,
/// overlaid by the results of the journals. It never writes to the files. Several threads may call
/// const functions. Functions throw RunError or Hdf5Error, also if the file changes in a way that
/// no wallheat process causes.
class Snapshot {
 public:
  /// Takes a snapshot. `path` is as returned by result_path().
  explicit Snapshot(const std::filesystem::path& path, JournalSet which = JournalSet::all);
  Snapshot(Snapshot&&) = default;
  Snapshot& operator=(Snapshot&&) = default;

  /// Puts the rows into the order of these plans. New plans are pending. Throws RunError if a
  /// solved row belongs to none of them.
  void reorder(const StringList& ids);
  [[nodiscard]] bool is_arranged() const { return is_arranged_; }

  [[nodiscard]] const ResultFile& file() const { return *file_; }
  /// Moves the file out. Afterwards file() and functions that read rows must not be called.
  [[nodiscard]] std::unique_ptr<ResultFile> take_file() { return std::move(file_); }
  /// Returns the header of the file, with the sessions of the journals added.
  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] const StringList& ids() const { return ids_; }
  [[nodiscard]] std::size_t count() const { return ids_.size(); }
  /// Returns the number of journals that the file has not absorbed.
  [[nodiscard]] std::size_t journals() const { return journals_.size(); }
  /// Returns the number of results in these journals.
  [[nodiscard]] std::size_t journaled_results() const { return journaled_; }
  [[nodiscard]] std::uint64_t bytes() const;  ///< size of the file and its journals
  /// Returns the journals without a record, which a power loss may leave after the last journal.
  [[nodiscard]] const std::vector<std::filesystem::path>& empty_journals() const {
    return empty_journals_;
  }
  /// Returns true if every session whose journal is not absorbed has written its end record. If
  /// not, a session is still running or was killed.
  [[nodiscard]] bool ended_cleanly() const;
  [[nodiscard]] const Damage& damage() const { return damage_; }
  [[nodiscard]] Damage damage_with(const MissingData& missing) const;

  [[nodiscard]] ResultRow row(std::size_t i) const;
  void for_each_row(const std::function<void(const ResultRow& row)>& take) const;
  /// Returns the number of rooms of a row, without verifying their checksums.
  [[nodiscard]] std::uint32_t room_count(const ResultRow& row) const;
  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t i) const;
  /// Returns the compressed field of a row; nullopt if it is damaged.
  [[nodiscard]] std::optional<std::vector<std::byte>> field(const ResultRow& row) const;
  /// Loads row i with its rooms and its field. If rooms or field are missing or damaged, records
  /// that in `missing`, sets `result.row` to pending and returns false.
  bool load(std::size_t i, StoredResult& result, MissingData& missing) const;

 private:
  Snapshot() = default;

  static constexpr std::uint32_t not_in_file = UINT32_MAX;
  /// State of a row of the file.
  struct FileRow {
    bool is_damaged = false;
    bool lacks_journal = false;  ///< its field or rooms were in a journal that is lost
    bool is_solved = false;      ///< in the file or in a journal
  };

  void read_all(const std::filesystem::path& path, JournalSet which);
  void read_file_rows();
  void read_journals(const std::filesystem::path& path, JournalSet which);
  void check_absorbed_journals(const std::filesystem::path& path) const;
  [[nodiscard]] bool check_journals_after(const std::filesystem::path& path, std::size_t end,
                                          JournalSet which);
  void overlay(const ResultRow& row, const JournalEntry& entry);
  void collect_damage();
  [[nodiscard]] std::optional<std::size_t> index_of(const ResultRow& row);
  [[nodiscard]] std::uint32_t in_file(std::size_t i) const {
    return is_arranged_ ? file_rows_of_[i] : static_cast<std::uint32_t>(i);
  }
  /// Returns the entry of row i in a journal; nullptr if the row of the file counts.
  [[nodiscard]] const JournalEntry* entry_of(std::size_t i) const {
    return entries_.empty() || entries_[i].journal_position == 0 ? nullptr : &entries_[i];
  }
  [[nodiscard]] const JournalReader& journal_of(const JournalEntry& entry) const {
    return journals_[entry.journal_position - 1];
  }
  [[nodiscard]] bool has_lost_journal_data(const ResultRow& row) const;
  [[nodiscard]] ResultRow row_in_file(std::size_t i, ResultRow found) const;

  std::unique_ptr<ResultFile> file_;
  FileHeader header_;
  StringList ids_;
  bool is_arranged_ = false;
  std::vector<std::uint32_t>
      file_rows_of_;  ///< index in the file of row i, if reorder() was called
  /// Row by ID. Created if a journal was written for another list of plans.
  std::optional<std::unordered_map<std::string_view, std::size_t>> by_id_;
  std::vector<FileRow> file_rows_;
  std::vector<JournalReader> journals_;
  std::vector<std::string> damaged_journals_;
  std::vector<std::filesystem::path> empty_journals_;
  std::vector<JournalEntry> entries_;  ///< by row; empty without journals
  std::size_t journaled_ = 0;
  Damage damage_;
};

/// Compacts a result file: writes the file and its journals into a new file, replaces the file by
/// it atomically, and removes the journals. The rows are those of `ids`, in their order, or those
/// of the file if `ids` is null. Rows with damaged rooms or a damaged field become pending; they
/// are returned. Returns nullopt if `stop` returned true.
///
/// Nothing is lost if the process is killed at any moment. Nothing is lost either if another
/// process writes at the same time because it does not see the lock of this process: each journal
/// is fenced before it is read. Needs free space for another copy of the file.
std::optional<Damage> compact(const std::filesystem::path& path, const StringList* ids = nullptr,
                              const StopPredicate& stop = {});

/// Fences the journals that belong to a file with one of these IDs: renames them, so that no
/// process can acknowledge another result in them. Does not sync the directory; a journal counts by
/// either name until the new file has replaced the old one.
void fence_journals(const std::filesystem::path& path, std::span<const FileId> file_ids);

/// Fences all journals next to a result file that --overwrite replaces. Returns the attributes that
/// identify them, for FileHeader::replaced.
[[nodiscard]] std::vector<Attributes> fence_replaced_journals(const std::filesystem::path& path);

/// Removes the journals that a file with this header has absorbed, and those of a file that it
/// replaced (FileHeader::replaced), and syncs the directory.
void remove_superfluous_journals(const std::filesystem::path& path, const FileHeader& header);
/// Returns true if the file has everything that a journal contains. Call journal.scan_identity()
/// before.
[[nodiscard]] bool is_superfluous(JournalReader& journal, const FileHeader& header);

}  // namespace wallheat::store
