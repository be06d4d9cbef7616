#include "store/view.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/text.hpp"
#include "io/deflate.hpp"
#include "io/files.hpp"
#include "store/result_path.hpp"

namespace wallheat::store {
namespace {

constexpr std::size_t rows_at_once = 1024;

/// Under its name or, as a fold may rename it at any moment, under that of one that was taken.
std::optional<JournalReader> open_journal(const std::filesystem::path& path, Journals which) {
  std::optional<File> file;
  if (which == Journals::all) file = open_unless(ENOENT, path, O_RDONLY);
  if (!file) file = open_unless(ENOENT, taken_path(path), O_RDONLY);
  if (!file) return std::nullopt;
  return JournalReader(std::move(*file));
}

}  // namespace

std::string few_of(const std::vector<std::string>& ids) {
  constexpr std::size_t few = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(few, ids.size()); ++i)
    text += (i == 0 ? "\"" : ", \"") + ids[i] + "\"";
  return ids.size() > few ? text + " and " + std::to_string(ids.size() - few) + " more" : text;
}

void Damage::add(const std::string& noun, const std::string& what,
                 const std::vector<std::size_t>& rows, const TextList& ids) {
  if (rows.empty()) return;
  std::vector<std::string> names;
  for (const std::size_t i : rows) names.emplace_back(ids[i]);
  sentences.push_back(counted(rows.size(), noun) + (rows.size() == 1 ? " was " : " were ") + what +
                      "; pending again: " + few_of(names));
  lost.insert(lost.end(), rows.begin(), rows.end());
  std::sort(lost.begin(), lost.end());
}

View::View(const std::filesystem::path& path, Journals which) {
  const auto inode = [&] {
    const auto info = info_of(path);
    return info ? info->st_ino : ino_t{0};
  };
  constexpr int most_looks = 50;
  for (int looks = 1;; ++looks) {
    const auto before = inode();
    try {
      look(path, which);
      if (inode() == before) return;
    } catch (const RunError&) {
      if (inode() == before) throw;
    }
    // A fold has put another file in its place, and taken its journals.
    if (looks == most_looks) throw RunError(path.string() + " changes all the time; try again");
    *this = View();
  }
}

/// The rows before the journals: what a living writer puts into the file is in its journal before.
void View::look(const std::filesystem::path& path, Journals which) {
  file_ = std::make_unique<ResultFile>(path);
  campaign_ = file_->campaign();
  read_file_rows();
  read_journals(path, which);
  tell_damage();
}

void View::read_file_rows() {
  const std::size_t count = file_->count();
  ids_.reserve(count);
  file_rows_.reserve(count);
  std::vector<Row> rows;
  for (std::size_t first = 0; first < count; first += rows.size()) {
    rows.resize(std::min(rows_at_once, count - first));
    file_->read_rows(first, rows);
    for (const Row& row : rows) {
      const std::size_t i = ids_.size();
      const bool is_damaged = !is_intact(row) || row.index != i;
      ids_.push_back(id_of(row));
      file_rows_.push_back({.is_damaged = is_damaged,
                            .lacks_journal = !is_damaged && lacks_its_journal(row),
                            .is_answered = !is_damaged && is_answer(status_of(row))});
    }
  }
}

/// Behind the last journal there must be none, but for such as a loss of power left without a
/// record. True if another one has come to the end meanwhile.
bool View::look_behind(const std::filesystem::path& path, std::size_t end, Journals which) {
  for (const std::size_t number : journal_numbers(path)) {
    if (number <= end) continue;
    auto journal = open_journal(journal_path(path, number), which);
    if (!journal) continue;
    const auto found = journal->file().path().string();
    journal->scan([](const Row&, const JournalEntry&) {});
    if (journal->file_id() == 0) {
      empty_journals_.emplace_back(found);
      continue;
    }
    if (open_journal(journal_path(path, end), which)) return true;
    const auto missing = journal_path(path, end).string();
    throw RunError(missing + " is missing, although " + found +
                   " is there: bring it back; if it is lost for good, with the results in it, "
                   "close the gap: mv " +
                   found + " " + missing);
  }
  return false;
}

void View::read_journals(const std::filesystem::path& path, Journals which) {
  const auto& known = file_->campaign();
  for (std::size_t number = known.sessions.size();; ++number) {
    auto opened = open_journal(journal_path(path, number), which);
    if (!opened && look_behind(path, number, which))
      opened = open_journal(journal_path(path, number), which);
    if (!opened) return;
    auto& journal = journals_.emplace_back(std::move(*opened));
    if (entries_.empty()) entries_.resize(count());
    journal.scan([&](const Row& row, const JournalEntry& entry) { overlay(row, entry); });
    const FileId id = journal.file_id();
    if (id != 0 && id != known.file_id && id != known.predecessor)
      throw RunError(journal.file().path().string() +
                     " is the journal of another result file than " + path.string() +
                     ": bring back the file that belongs to it, or move the journal away");
    if (journal.is_damaged())
      damaged_journals_.push_back(journal.file().path().filename().string());
    campaign_.sessions.push_back(journal.session());
  }
}

/// The last result counts; but a failure does not take the place of another session's answer: two
/// that did not see each other have a journal each. Of one session it does: two devices disagreed.
void View::overlay(const Row& row, const JournalEntry& entry) {
  const auto i = index_of(row);
  if (!i) return;
  // A row gets its place once its record is synced. Before, a loss of power may have kept the
  // record's row and not the field behind it.
  FileRow& in_file = file_rows_[*i];
  if (has_field(row) && !in_file.lacks_journal &&
      crc32_of(journals_.back().field(entry, row)) != row.field_crc32)
    return;
  ++journaled_;
  JournalEntry& newest = entries_[*i];
  const auto this_journal = static_cast<std::uint32_t>(journals_.size());
  const bool has_answer = is_answer(status_of(row));
  if (!has_answer && in_file.is_answered && newest.journal != this_journal) return;
  newest = {entry.offset, entry.rooms, this_journal};
  in_file.is_answered = has_answer;
}

/// A journal that another process began before a fold may be of another list of plans.
std::optional<std::size_t> View::index_of(const Row& row) {
  if (row.index < count() && id_of(row) == ids_[row.index]) return row.index;
  if (!by_id_) {
    by_id_.emplace();
    for (std::size_t i = 0; i < count(); ++i) by_id_->emplace(ids_[i], i);
  }
  const auto found = by_id_->find(id_of(row));
  if (found != by_id_->end()) return found->second;
  // A damaged row has perhaps lost its id.
  const bool is_damaged = row.index < count() && file_rows_[row.index].is_damaged;
  return is_damaged ? std::optional<std::size_t>(row.index) : std::nullopt;
}

void View::tell_damage() {
  std::vector<std::size_t> damaged, without_journal;
  for (std::size_t i = 0; i < count(); ++i) {
    if (entry_of(i) != nullptr) continue;
    if (file_rows_[i].is_damaged) damaged.push_back(i);
    if (file_rows_[i].lacks_journal) without_journal.push_back(i);
  }
  for (const std::string& name : damaged_journals_)
    damage_.sentences.push_back(name + " is damaged; what it lost is pending again");
  damage_.add("row", "damaged", damaged, ids_);
  damage_.add("row", "without the field or rooms that its journal held", without_journal, ids_);
}

std::uint64_t View::bytes() const {
  std::uint64_t bytes = file_->bytes();
  for (const JournalReader& journal : journals_) bytes += journal.file().size();
  return bytes;
}

bool View::has_ended() const {
  return std::all_of(journals_.begin(), journals_.end(),
                     [](const JournalReader& journal) { return journal.has_ended(); });
}

/// True of a row whose field and rooms can only be in a journal, as they are not folded yet.
bool View::lacks_its_journal(const Row& row) const {
  const Campaign& campaign = file_->campaign();
  return row.session >= campaign.sessions.size() && (has_field(row) || campaign.has_rooms(row));
}

void View::arrange(const TextList& ids) {
  if (ids == ids_) return;
  std::unordered_map<std::string_view, std::uint32_t> index_of;
  for (std::size_t i = 0; i < ids.size(); ++i)
    index_of.emplace(ids[i], static_cast<std::uint32_t>(i));
  std::vector<std::uint32_t> in_file(ids.size(), not_in_file);
  std::vector<JournalEntry> entries(entries_.empty() ? 0 : ids.size());
  std::vector<std::string> lost;
  for_each_row([&](const Row& row) {
    const bool says_nothing = status_of(row) == PlanStatus::pending && row.attempts == 0;
    if (says_nothing) return;  // nor is the id of a damaged row known for sure
    const auto found = index_of.find(id_of(row));
    if (found == index_of.end()) {
      if (is_answer(status_of(row))) lost.emplace_back(id_of(row));
      return;
    }
    in_file[found->second] = row.index;
    if (!entries.empty()) entries[found->second] = entries_[row.index];
  });
  if (!lost.empty())
    throw RunError(file_->path().string() +
                   " holds answers of plans that this run does not name (" + few_of(lost) +
                   "); name them too, or write to another file");
  is_arranged_ = true;
  in_file_ = std::move(in_file);
  entries_ = std::move(entries);
  ids_ = ids;
}

/// As it counts: a row that was stored since the look, and came with more, is still pending.
Row View::row_in_file(std::size_t i, Row found) const {
  using namespace std::chrono_literals;
  const std::size_t at = in_file(i);
  if (file_rows_[at].is_damaged) return pending_row(i, ids_[i]);
  constexpr int most_tries = 200;  // it may be half written at this very moment
  for (int tries = 0; !is_intact(found) || found.index != at; ++tries) {
    if (tries == most_tries) throw RunError(file_->path().string() + " changed while it was read");
    std::this_thread::sleep_for(1ms);
    file_->read_rows(at, std::span(&found, 1));
  }
  return lacks_its_journal(found) ? pending_row(i, ids_[i]) : found;
}

Row View::row(std::size_t i) const {
  Row row;
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
    seal(row);
  }
  return row;
}

void View::for_each_row(const std::function<void(const Row& row)>& take) const {
  std::vector<Row> rows;
  for (std::size_t first = 0; first < count(); first += rows.size()) {
    rows.resize(std::min(rows_at_once, count() - first));
    if (!is_arranged_) file_->read_rows(first, rows);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::size_t i = first + k;
      take(is_arranged_ || entry_of(i) != nullptr ? row(i) : row_in_file(i, rows[k]));
    }
  }
}

std::uint32_t View::room_count(const Row& row) const {
  if (!campaign_.has_rooms(row)) return 0;
  const JournalEntry* entry = entry_of(row.index);
  return entry != nullptr ? entry->rooms : file_->room_count(in_file(row.index));
}

std::vector<RoomResult> View::rooms(std::size_t i) const {
  const JournalEntry* entry = entry_of(i);
  auto rooms = entry == nullptr ? file_->rooms(in_file(i)) : journal_of(*entry).rooms(*entry);
  const bool is_moved = !rooms.empty() && rooms.front().plan != i;
  if (!is_moved) return rooms;
  const bool are_whole =
      std::ranges::all_of(rooms, [](const auto& room) { return is_intact(room); });
  return are_whole ? sealed_rooms(rooms, i) : std::vector<RoomResult>();
}

std::optional<std::vector<std::byte>> View::field(const Row& row) const {
  const JournalEntry* entry = entry_of(row.index);
  if (entry == nullptr) return file_->field(row);
  auto field = journal_of(*entry).field(*entry, row);
  return crc32_of(field) == row.field_crc32 ? std::optional(std::move(field)) : std::nullopt;
}

bool View::load(std::size_t i, StoredResult& result, Lacking& lacking) const {
  result = {.row = row(i)};
  const auto lacks = [&](std::vector<std::size_t>& what) {
    what.push_back(i);
    result = {.row = pending_row(i, ids_[i])};
    return false;
  };
  if (campaign_.has_rooms(result.row)) {
    result.rooms = rooms(i);
    if (!are_intact(result.rooms, result.row)) return lacks(lacking.rooms);
  }
  if (!has_field(result.row)) return true;
  auto bytes = field(result.row);
  if (!bytes) return lacks(lacking.fields);
  result.field = std::move(*bytes);
  return true;
}

Damage View::damage_with(const Lacking& lacking) const {
  Damage damage = damage_;
  damage.add("row", "without the rooms that belong to it", lacking.rooms, ids_);
  damage.add("field", "damaged", lacking.fields, ids_);
  return damage;
}

}  // namespace wallheat::store
