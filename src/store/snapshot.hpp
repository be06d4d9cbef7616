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
#include "io/write_lock.hpp"
#include "store/result_file.hpp"

namespace wallheat::store {

/// What was found wrong with a file.
struct Damage {
  std::vector<std::string> messages{};  ///< for people, without the file's name
  std::vector<std::size_t> lost{};      ///< rows that are pending for it, ascending

  /// Adds `rows` and the sentence "2 rows were damaged; pending again: "a", "b"", if there are any.
  void add(const std::string& noun, const std::string& what, const std::vector<std::size_t>& rows,
           const StringList& ids);
};

/// Rows that were loaded, but lack what they say that they have.
struct MissingData {
  std::vector<std::size_t> rooms, fields;
};

/// The first few ids in quotes, and how many more there are.
[[nodiscard]] std::string join_first_ids(const std::vector<std::string>& ids);

/// Which journals a view has: `fenced` are those that a fold took from their writers, to which
/// nothing is added any more.
enum class JournalSet { all, fenced };

/// What a result file and its journals say together, at one look: the file's rows, overlaid by the
/// journals' results. Nothing is changed. Several threads may ask. Functions throw RunError or
/// Hdf5Error, also if the file changes in a way that it never should.
class Snapshot {
 public:
  /// `path` is that of result_path().
  explicit Snapshot(const std::filesystem::path& path, JournalSet which = JournalSet::all);
  Snapshot(Snapshot&&) = default;
  Snapshot& operator=(Snapshot&&) = default;

  /// From now on its rows are those of these plans, in their order; new ones are pending. Throws
  /// RunError if an answer would be lost.
  void reorder(const StringList& ids);
  [[nodiscard]] bool is_arranged() const { return is_arranged_; }

  [[nodiscard]] const ResultFile& file() const { return *file_; }
  [[nodiscard]] std::unique_ptr<ResultFile> take_file() { return std::move(file_); }
  /// With the sessions of the journals.
  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] const StringList& ids() const { return ids_; }
  [[nodiscard]] std::size_t count() const { return ids_.size(); }
  /// How many journals are not folded into the file, and how many results they hold.
  [[nodiscard]] std::size_t journals() const { return journals_.size(); }
  [[nodiscard]] std::size_t journaled_results() const { return journaled_; }
  [[nodiscard]] std::uint64_t bytes() const;  ///< of the file and its journals
  /// Journals without a record, as a loss of power leaves them behind others.
  [[nodiscard]] const std::vector<std::filesystem::path>& empty_journals() const {
    return empty_journals_;
  }
  /// False if a session that is not folded goes on, or was killed.
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] const Damage& damage() const { return damage_; }
  [[nodiscard]] Damage damage_with(const MissingData& missing) const;

  [[nodiscard]] ResultRow row(std::size_t i) const;
  void for_each_row(const std::function<void(const ResultRow& row)>& take) const;
  /// How many rooms a row of this view has; not checked.
  [[nodiscard]] std::uint32_t room_count(const ResultRow& row) const;
  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t i) const;
  /// The compressed field of a row; nothing if it is damaged.
  [[nodiscard]] std::optional<std::vector<std::byte>> field(const ResultRow& row) const;
  /// Row i with its rooms and its field. False, and a pending row, if it lacks what it says that it
  /// has.
  bool load(std::size_t i, StoredResult& result, MissingData& missing) const;

 private:
  Snapshot() = default;

  static constexpr std::uint32_t not_in_file = UINT32_MAX;
  /// What the look found of a row of the file.
  struct FileRow {
    bool is_damaged = false;
    bool lacks_journal = false;  ///< its field or rooms, which are not folded yet, are not there
    bool is_solved = false;      ///< by the file or a journal
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
  /// Null if row i is in the file.
  [[nodiscard]] const JournalEntry* entry_of(std::size_t i) const {
    return entries_.empty() || entries_[i].journal_number == 0 ? nullptr : &entries_[i];
  }
  [[nodiscard]] const JournalReader& journal_of(const JournalEntry& entry) const {
    return journals_[entry.journal_number - 1];
  }
  [[nodiscard]] bool has_lost_journal_data(const ResultRow& row) const;
  [[nodiscard]] ResultRow row_in_file(std::size_t i, ResultRow found) const;

  std::unique_ptr<ResultFile> file_;
  FileHeader header_;
  StringList ids_;
  bool is_arranged_ = false;
  std::vector<std::uint32_t> file_rows_of_;  ///< where the file has row i, if it is arranged
  /// Made if a journal was written for another list of plans.
  std::optional<std::unordered_map<std::string_view, std::size_t>> by_id_;
  std::vector<FileRow> file_rows_;
  std::vector<JournalReader> journals_;
  std::vector<std::string> damaged_journals_;
  std::vector<std::filesystem::path> empty_journals_;
  std::vector<JournalEntry> entries_;  ///< of plan i; empty without journals
  std::size_t journaled_ = 0;
  Damage damage_;
};

/// Makes one HDF5 file of a result file and its journals, in place of the file, and removes the
/// journals; its rows are those of `ids` in their order, or those of the file if there are none.
/// Rows whose field or rooms are damaged become pending, which the return value tells; nothing if
/// it was stopped. A kill at any moment loses nothing, and neither does a writer that does not see
/// this one: its journal is taken from it first. Needs room for the file once more.
std::optional<Damage> compact(const std::filesystem::path& path, const StringList* ids = nullptr,
                              const StopPredicate& stop = {});

/// Renames the journals that belong to a file with one of these IDs, so that no process
/// acknowledges a result in them any more. Not durable: until the new file has its name, they count
/// by either name.
void fence_journals(const std::filesystem::path& path, std::span<const FileId> file_ids);

/// Fences all journals next to a result file that --overwrite replaces. Returns the attributes that
/// identify them, for FileHeader::replaced.
[[nodiscard]] std::vector<Attributes> fence_replaced_journals(const std::filesystem::path& path);

/// Removes the journals that a file with this header has absorbed or replaced, durably.
void remove_superfluous_journals(const std::filesystem::path& path, const FileHeader& header);
/// True if a journal that scan_identity() has read contains nothing that the file lacks.
[[nodiscard]] bool is_superfluous(JournalReader& journal, const FileHeader& header);

}  // namespace wallheat::store
