#include "store/snapshot.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/text.hpp"
#include "io/deflate.hpp"
#include "io/files.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"

namespace wallheat::store {
namespace {

constexpr std::size_t rows_per_read = 1024;

/// Opens a journal by its name or by its fenced name, because a compaction may rename it at any
/// moment. Returns nullopt if it does not exist, or if the file has replaced it.
std::optional<JournalReader> open_journal(const std::filesystem::path& path, JournalSet which,
                                          const FileHeader& header) {
  std::optional<File> file;
  if (which == JournalSet::all) file = open_unless_errno(ENOENT, path, O_RDONLY);
  if (!file) file = open_unless_errno(ENOENT, fenced_path(path), O_RDONLY);
  if (!file) return std::nullopt;
  JournalReader journal(std::move(*file));
  if (header.replaced.empty()) return journal;
  journal.scan_identity();
  if (contains_journal(header.replaced, journal)) return std::nullopt;
  return journal;
}

/// Throws the error for a journal that the file has not absorbed and that does not belong to it.
[[noreturn]] void throw_foreign_journal(const std::filesystem::path& file, const FileHeader& header,
                                        const std::filesystem::path& name,
                                        const JournalReader& journal) {
  if (journal.file_id() == 0)
    throw RunError(name.string() + " is not a journal of wallheat; move it away");
  if (belongs_to(journal, absorbed_file_ids(header))) {
    const std::size_t next = std::max(header.sessions.size(), journal_numbers(file).back() + 1);
    throw RunError(name.string() + " contains results that are not in " + file.string() +
                   ", which was compacted from an earlier copy; to add them: mv " + name.string() +
                   " " + journal_path(file, next).string());
  }
  throw RunError(name.string() + " is the journal of another result file (file_id " +
                 to_text(journal.file_id()) + ") than " + file.string() + " (file_id " +
                 to_text(header.file_id) +
                 "): restore the file that belongs to it, or move the journal away");
}

}  // namespace

bool is_superfluous(JournalReader& journal, const FileHeader& header) {
  if (journal.file_id() == 0) return journal.is_journal();
  if (has_absorbed(header, journal) || contains_journal(header.replaced, journal)) return true;
  if (!belongs_to(journal, absorbed_file_ids(header))) return false;
  bool has_results = false;  // a writer that was fenced before its first commit has left none
  journal.scan([&](const ResultRow&, const JournalEntry&) { has_results = true; });
  return !has_results;
}

std::string join_first_ids(const std::vector<std::string>& ids) {
  constexpr std::size_t few = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(few, ids.size()); ++i)
    text += (i == 0 ? "\"" : ", \"") + ids[i] + "\"";
  return ids.size() > few ? text + " and " + std::to_string(ids.size() - few) + " more" : text;
}

void Damage::add(const std::string& noun, const std::string& what,
                 const std::vector<std::size_t>& rows, const StringList& ids) {
  if (rows.empty()) return;
  std::vector<std::string> names;
  for (const std::size_t i : rows) names.emplace_back(ids[i]);
  messages.push_back(count_text(rows.size(), noun) + (rows.size() == 1 ? " was " : " were ") +
                     what + "; pending again: " + join_first_ids(names));
  lost.insert(lost.end(), rows.begin(), rows.end());
  std::sort(lost.begin(), lost.end());
}

Snapshot::Snapshot(const std::filesystem::path& path, JournalSet which) {
  const auto inode = [&] {
    const auto info = stat_if_exists(path);
    return info ? info->st_ino : ino_t{0};
  };
  constexpr int max_attempts = 50;
  for (int attempts = 1;; ++attempts) {
    const auto before = inode();
    try {
      read_all(path, which);
      if (inode() == before) return;
    } catch (const RunError&) {
      if (inode() == before) throw;
    }
    // A compaction has replaced the file and removed its journals.
    if (attempts == max_attempts)
      throw RunError(path.string() + " changed during each attempt to read it; try again");
    *this = Snapshot();
  }
}

/// Reads the rows of the file before the journals. A running writer appends a result to its journal
/// before it writes the row into the file, so no row in the file is newer than the journals.
void Snapshot::read_all(const std::filesystem::path& path, JournalSet which) {
  file_ = std::make_unique<ResultFile>(path);
  header_ = file_->header();
  read_file_rows();
  read_journals(path, which);
  collect_damage();
}

void Snapshot::read_file_rows() {
  const std::size_t count = file_->count();
  ids_.reserve(count);
  file_rows_.reserve(count);
  std::vector<ResultRow> rows;
  for (std::size_t first = 0; first < count; first += rows.size()) {
    rows.resize(std::min(rows_per_read, count - first));
    file_->read_rows(first, rows);
    for (const ResultRow& row : rows) {
      const std::size_t i = ids_.size();
      const bool is_damaged = !is_intact(row) || row.index != i;
      ids_.push_back(id_of(row));
      file_rows_.push_back({.is_damaged = is_damaged,
                            .lacks_journal = !is_damaged && has_lost_journal_data(row),
                            .is_solved = !is_damaged && is_solved(status_of(row))});
    }
  }
}

/// Requires that journals with numbers below the number of the file's sessions are superfluous:
/// they are left by a compaction that was killed.
void Snapshot::check_absorbed_journals(const std::filesystem::path& path) const {
  const auto& known = file_->header();
  for_each_journal(path, [&](const std::filesystem::path& name, JournalReader& journal) {
    const auto number = journal_number(name.filename().string(), path);
    if (number < known.sessions.size() && !is_superfluous(journal, known))
      throw_foreign_journal(path, known, name, journal);
  });
}

/// Requires that no journal has a number above `end`, the first number without a journal, except
/// for journals without a record, which a power loss leaves. Returns true if another process has
/// created the journal `end` meanwhile.
bool Snapshot::check_journals_after(const std::filesystem::path& path, std::size_t end,
                                    JournalSet which) {
  const auto& known = file_->header();
  for (const std::size_t number : journal_numbers(path)) {
    if (number <= end) continue;
    auto journal = open_journal(journal_path(path, number), which, known);
    if (!journal) continue;
    const auto found = journal->file().path();
    journal->scan_identity();
    if (!belongs_to(*journal, absorbed_file_ids(known)))
      throw_foreign_journal(path, known, found, *journal);
    if (journal->file_id() == 0) {
      empty_journals_.push_back(found);
      continue;
    }
    if (open_journal(journal_path(path, end), which, known)) return true;
    const auto missing = journal_path(path, end).string();
    throw RunError(
        missing + " is missing, but " + found.string() +
        " exists: restore it; if it is lost, with the results in it, close the gap: mv " +
        found.string() + " " + missing);
  }
  return false;
}

void Snapshot::read_journals(const std::filesystem::path& path, JournalSet which) {
  check_absorbed_journals(path);
  const auto& known = file_->header();
  const auto file_ids = absorbed_file_ids(known);
  for (std::size_t number = known.sessions.size();; ++number) {
    auto opened = open_journal(journal_path(path, number), which, known);
    if (!opened && check_journals_after(path, number, which))
      opened = open_journal(journal_path(path, number), which, known);
    if (!opened) return;
    auto& journal = journals_.emplace_back(std::move(*opened));
    if (entries_.empty()) entries_.resize(count());
    journal.scan([&](const ResultRow& row, const JournalEntry& entry) { overlay(row, entry); });
    if (!belongs_to(journal, file_ids))
      throw_foreign_journal(path, known, journal.file().path(), journal);
    if (journal.is_damaged())
      damaged_journals_.push_back(journal.file().path().filename().string());
    header_.sessions.push_back(session_of(journal));
  }
}

/// Adds a result of the last journal. The newest result of a plan counts, with one exception: a
/// failure does not replace a solved result of another session, because two runs that did not see
/// each other's lock have a journal each. In one session, a failure after a solved result means
/// that two devices disagreed, so it counts.
void Snapshot::overlay(const ResultRow& row, const JournalEntry& entry) {
  const auto i = index_of(row);
  if (!i) return;
  // The row is in the file only if the record was synced. Otherwise a power loss may have kept the
  // row of the record, but not the field after it, so the checksum of the field is verified.
  FileRow& in_file = file_rows_[*i];
  if (has_field(row) && !in_file.lacks_journal &&
      crc32_of(journals_.back().field(entry, row)) != row.field_crc32)
    return;
  ++journaled_;
  JournalEntry& newest = entries_[*i];
  const auto this_journal = static_cast<std::uint32_t>(journals_.size());
  const bool has_result = is_solved(status_of(row));
  if (!has_result && in_file.is_solved && newest.journal_position != this_journal) return;
  newest = {entry.offset, entry.rooms, this_journal};
  in_file.is_solved = has_result;
}

/// Returns the index of a journal's row in this snapshot. It may differ from the index in the row,
/// because a journal may have been created before a compaction for another list of plans.
std::optional<std::size_t> Snapshot::index_of(const ResultRow& row) {
  if (row.index < count() && id_of(row) == ids_[row.index]) return row.index;
  if (!by_id_) {
    by_id_.emplace();
    for (std::size_t i = 0; i < count(); ++i) by_id_->emplace(ids_[i], i);
  }
  const auto found = by_id_->find(id_of(row));
  if (found != by_id_->end()) return found->second;
  // The ID of a damaged row may be damaged, too.
  const bool is_damaged = row.index < count() && file_rows_[row.index].is_damaged;
  return is_damaged ? std::optional<std::size_t>(row.index) : std::nullopt;
}

void Snapshot::collect_damage() {
  std::vector<std::size_t> damaged, without_journal;
  for (std::size_t i = 0; i < count(); ++i) {
    if (entry_of(i) != nullptr) continue;
    if (file_rows_[i].is_damaged) damaged.push_back(i);
    if (file_rows_[i].lacks_journal) without_journal.push_back(i);
  }
  for (const std::string& name : damaged_journals_)
    damage_.messages.push_back(name +
                               " is damaged; the plans of its lost results are pending again");
  damage_.add("row", "damaged", damaged, ids_);
  damage_.add("row", "without the field or rooms, which were in a lost journal", without_journal,
              ids_);
}

std::uint64_t Snapshot::bytes() const {
  std::uint64_t bytes = file_->bytes();
  for (const JournalReader& journal : journals_) bytes += journal.file().size();
  return bytes;
}

bool Snapshot::ended_cleanly() const {
  // The journal of a killed session has no end until a compaction, but a later session that has
  // ended has closed the file.
  return journals_.empty() || journals_.back().ended_cleanly();
}

/// Returns true if a row of the file has a field or rooms that only a journal contains. If no
/// journal overlays the row, that journal is lost.
bool Snapshot::has_lost_journal_data(const ResultRow& row) const {
  const FileHeader& header = file_->header();
  return row.session >= header.sessions.size() && (has_field(row) || header.has_rooms(row));
}

void Snapshot::reorder(const StringList& ids) {
  if (ids == ids_) return;
  std::unordered_map<std::string_view, std::uint32_t> index_of;
  for (std::size_t i = 0; i < ids.size(); ++i)
    index_of.emplace(ids[i], static_cast<std::uint32_t>(i));
  std::vector<std::uint32_t> in_file(ids.size(), not_in_file);
  std::vector<JournalEntry> entries(entries_.empty() ? 0 : ids.size());
  std::vector<std::string> lost;
  for_each_row([&](const ResultRow& row) {
    const bool is_empty = status_of(row) == PlanStatus::pending && row.attempts == 0;
    if (is_empty) return;  // has nothing to lose; includes damaged rows, whose IDs may be wrong
    const auto found = index_of.find(id_of(row));
    if (found == index_of.end()) {
      if (is_solved(status_of(row))) lost.emplace_back(id_of(row));
      return;
    }
    in_file[found->second] = row.index;
    if (!entries.empty()) entries[found->second] = entries_[row.index];
  });
  if (!lost.empty())
    throw RunError(file_->path().string() +
                   " contains results of plans that are not in the list of this run (" +
                   join_first_ids(lost) + "); add them to the list, or write to another file");
  is_arranged_ = true;
  file_rows_of_ = std::move(in_file);
  entries_ = std::move(entries);
  ids_ = ids;
}

/// Returns row i, given the row that was read from the file. Reads the row again if a writer is
/// changing it at this moment. A row that was stored after the snapshot, and has a field or rooms,
/// is still pending.
ResultRow Snapshot::row_in_file(std::size_t i, ResultRow found) const {
  using namespace std::chrono_literals;
  const std::size_t at = in_file(i);
  if (file_rows_[at].is_damaged) return pending_row(i, ids_[i]);
  constexpr int max_attempts = 200;
  for (int attempts = 0; !is_intact(found) || found.index != at; ++attempts) {
    if (attempts == max_attempts) throw_changed(file_->path());
    std::this_thread::sleep_for(1ms);
    file_->read_rows(at, std::span(&found, 1));
  }
  return has_lost_journal_data(found) ? pending_row(i, ids_[i]) : found;
}

ResultRow Snapshot::row(std::size_t i) const {
  ResultRow row;
  if (const JournalEntry* entry = entry_of(i)) {
    row = journal_of(*entry).row(*entry);
  } else if (in_file(i) == not_in_file) {
    return pending_row(i, ids_[i]);
  } else {
    file_->read_rows(in_file(i), std::span(&row, 1));
    row = row_in_file(i, row);
  }
  if (row.index != i) {
    row.index = static_cast<std::uint32_t>(i);
    update_checksum(row);
  }
  return row;
}

void Snapshot::for_each_row(const std::function<void(const ResultRow& row)>& take) const {
  std::vector<ResultRow> rows;
  for (std::size_t first = 0; first < count(); first += rows.size()) {
    rows.resize(std::min(rows_per_read, count() - first));
    if (!is_arranged_) file_->read_rows(first, rows);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::size_t i = first + k;
      take(is_arranged_ || entry_of(i) != nullptr ? row(i) : row_in_file(i, rows[k]));
    }
  }
}

std::uint32_t Snapshot::room_count(const ResultRow& row) const {
  if (!header_.has_rooms(row)) return 0;
  const JournalEntry* entry = entry_of(row.index);
  return entry != nullptr ? entry->rooms : file_->room_count(in_file(row.index));
}

std::vector<RoomResult> Snapshot::rooms(std::size_t i) const {
  const JournalEntry* entry = entry_of(i);
  auto rooms = entry == nullptr ? file_->rooms(in_file(i)) : journal_of(*entry).rooms(*entry);
  const bool is_moved = !rooms.empty() && rooms.front().plan != i;
  if (!is_moved) return rooms;
  const bool are_intact =
      std::ranges::all_of(rooms, [](const auto& room) { return is_intact(room); });
  return are_intact ? rooms_with_checksums(rooms, i) : std::vector<RoomResult>();
}

std::optional<std::vector<std::byte>> Snapshot::field(const ResultRow& row) const {
  const JournalEntry* entry = entry_of(row.index);
  if (entry == nullptr) return file_->field(row);
  auto field = journal_of(*entry).field(*entry, row);
  return crc32_of(field) == row.field_crc32 ? std::optional(std::move(field)) : std::nullopt;
}

bool Snapshot::load(std::size_t i, StoredResult& result, MissingData& missing) const {
  result = {.row = row(i)};
  const auto lacks = [&](std::vector<std::size_t>& what) {
    what.push_back(i);
    result = {.row = pending_row(i, ids_[i])};
    return false;
  };
  if (header_.has_rooms(result.row)) {
    result.rooms = rooms(i);
    if (!are_intact(result.rooms, result.row)) return lacks(missing.rooms);
  }
  if (!has_field(result.row)) return true;
  auto bytes = field(result.row);
  if (!bytes) return lacks(missing.fields);
  result.field = std::move(*bytes);
  return true;
}

Damage Snapshot::damage_with(const MissingData& missing) const {
  Damage damage = damage_;
  damage.add("row", "without its rooms", missing.rooms, ids_);
  damage.add("field", "damaged", missing.fields, ids_);
  return damage;
}

}  // namespace wallheat::store
