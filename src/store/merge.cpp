#include "store/merge.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "io/files.hpp"
#include "store/error_context.hpp"
#include "store/field_codec.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "store/snapshot.hpp"
#include "store/write_lock.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

constexpr const char* origin = "merged_from";       // attribute of a session from a shard file
constexpr const char* part_count = "merged_parts";  // attribute of the session of the merge

/// The row that was chosen for a plan so far.
struct Choice {
  static constexpr std::uint32_t nothing = UINT32_MAX;
  std::uint32_t part = nothing;  ///< index of the file that contains it
  std::uint32_t checksum = 0;    ///< content_checksum() of the row, which identifies it
  std::int32_t failures = 0;
  std::int32_t attempts = 0;
  PlanStatus status = PlanStatus::pending;
  bool has_field = false;
  bool is_duplicate = false;  ///< several shard files contain a result of the plan

  /// Returns a key by which rows are compared; the row with the larger key is preferred. A solved
  /// row is larger than a failed one, and a failed row larger than a pending one. Among solved
  /// rows, one with a field is larger; among other rows, the one with more failures, and then the
  /// one with more attempts.
  [[nodiscard]] auto rank() const {
    const int kind = is_solved(status) ? 2 : status == PlanStatus::failed ? 1 : 0;
    return kind == 2 ? std::tuple(2, 0, 0, has_field) : std::tuple(kind, failures, attempts, false);
  }
};

/// Returns a checksum of a row that does not depend on its position in the list of plans.
std::uint32_t content_checksum(ResultRow row) {
  row.index = 0;
  update_checksum(row);
  return row.row_crc32;
}

Choice choice_of(std::uint32_t part, const ResultRow& row) {
  return {part,           content_checksum(row), row.failures, row.attempts,
          status_of(row), has_field(row),        false};
}

/// Returns false if the plans of a file were solved by a program of the user that may compute
/// different results for a plan.
bool is_deterministic(const FileHeader& header) {
  return !header.has_solver_command() || header.settings.contains("solver_deterministic");
}

/// A merge in progress: selects the row of each plan from the shard files. Each file is read twice,
/// once to select rows and once to copy them, each time through one snapshot.
class Merge {
 public:
  /// `earlier` is the merged file that the new one will replace; empty if there is none.
  Merge(std::vector<fs::path> parts, const fs::path& earlier)
      : parts_(std::move(parts)), part_count_(parts_.size()) {
    if (!earlier.empty()) parts_.push_back(earlier);
    for (std::uint32_t number = 0; number < parts_.size(); ++number) take(number);
    count();
  }

  /// Adds the session of the merge as the last session. It has no shard, so the merged file does
  /// not count as a shard file, although sessions of its shard files do have one.
  void add_session(Attributes session) {
    session[part_count] = std::to_string(part_count_);
    all_.sessions.push_back(truncate_at_nul(std::move(session)));
  }

  void write(const fs::path& out) {
    all_.file_id = new_file_id();
    all_.replaced = fence_replaced_journals(out);
    NewResultFile fresh(out, all_, ids_.size(), room_counts_);
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (choices_[i].part == Choice::nothing) fresh.put({.row = pending_row(i, ids_[i])});
    for (std::uint32_t number = 0; number < parts_.size(); ++number) write_part(number, fresh);
    if (parts_.size() > part_count_)
      fresh.copy_foreign_objects_from(
          open_as_it_is(static_cast<std::uint32_t>(part_count_)).file());
    fresh.finish();
    remove_superfluous_journals(out, all_);
  }

  [[nodiscard]] MergeReport& report() { return report_; }

 private:
  [[nodiscard]] Snapshot open_as_it_is(std::uint32_t number) const {
    const auto& part = parts_[number];
    return with_error_context(part, {"merge again", "restore a copy of it, or leave it out"},
                              [&] { return Snapshot(result_path(part)); });
  }
  /// Returns a snapshot of a file, with the rows in the order of the merged list.
  [[nodiscard]] Snapshot open(std::uint32_t number) const {
    Snapshot snapshot = open_as_it_is(number);
    snapshot.reorder(ids_);
    return snapshot;
  }
  /// Returns true if this file is the earlier merged file, whose results are copies of those of the
  /// shard files.
  [[nodiscard]] bool is_earlier(std::uint32_t number) const { return number >= part_count_; }

  void take(std::uint32_t number) {
    const auto& path = parts_[number];
    Snapshot snapshot = open_as_it_is(number);
    if (!snapshot.ended_cleanly())
      report_.warnings.push_back(
          path.string() +
          " was not closed: its run is still writing it, or was killed; its current "
          "results were merged");
    if (number == 0) {
      begin(snapshot);
    } else {
      require_same_settings(path, snapshot);
      unite_lists(path, snapshot);
    }
    take_sessions(path, snapshot.header().sessions);
    MissingData missing;
    std::vector<std::size_t> duplicates;
    StoredResult result;
    for (std::size_t i = 0; i < snapshot.count(); ++i) {
      (void)snapshot.load(i, result, missing);
      if (is_solved(status_of(result.row)) && is_solved(choices_[i].status))
        duplicates.push_back(i);
      take_row(number, i, result);
    }
    for (const auto& message : snapshot.damage_with(missing).messages)
      report_.warnings.push_back(path.string() + " is damaged: " + message);
    compare(number, snapshot, duplicates);
  }

  void begin(const Snapshot& first) {
    all_.settings = first.header().settings;
    all_.save_fields = first.header().save_fields;
    ids_ = first.ids();
    list_owner_ = parts_.front();
    choices_.resize(ids_.size());
    if (all_.keeps_rooms()) room_counts_.resize(ids_.size());
  }

  [[noreturn]] void refuse(const fs::path& path, const std::string& reason) const {
    throw RunError(path.string() + " belongs to another campaign than " + list_owner_.string() +
                   ": " + reason);
  }

  void require_same_settings(const fs::path& path, const Snapshot& part) const {
    const auto found = differences(part.header(), "in this file", all_, "in the other");
    if (!found.empty()) refuse(path, found);
  }

  /// Makes the longer one of two lists of plans, that of the merged file and that of this shard
  /// file, the list of both. Throws RunError if it does not contain all plans of the other list.
  void unite_lists(const fs::path& path, Snapshot& part) {
    if (part.ids() == ids_) return;
    const bool has_grown = part.count() > ids_.size();
    const StringList& longer = has_grown ? part.ids() : ids_;
    const StringList& shorter = has_grown ? ids_ : part.ids();
    std::unordered_map<std::string_view, std::size_t> index_of;
    for (std::size_t i = 0; i < longer.size(); ++i) index_of.emplace(longer[i], i);
    for (const std::string_view id : shorter)
      if (!index_of.contains(id))
        refuse(path, "neither file contains all plans of the other; only " +
                         (has_grown ? list_owner_ : path).string() + " contains plan \"" +
                         std::string(id) + "\"");
    if (longer.size() == shorter.size())
      refuse(path, "its plans are in another order: the first difference is \"" +
                       first_difference(part.ids(), ids_) + "\", in the other file \"" +
                       first_difference(ids_, part.ids()) + "\"");
    if (!has_grown) return part.reorder(ids_);
    std::vector<Choice> choices(longer.size());
    std::vector<std::uint32_t> room_counts(room_counts_.empty() ? 0 : longer.size());
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const std::size_t index = index_of.at(ids_[i]);
      choices[index] = choices_[i];
      if (!room_counts.empty()) room_counts[index] = room_counts_[i];
    }
    choices_ = std::move(choices);
    room_counts_ = std::move(room_counts);
    ids_ = part.ids();
    list_owner_ = path;
  }

  /// Returns the first ID that differs from the ID at the same position of `others`.
  static std::string first_difference(const StringList& ids, const StringList& others) {
    return std::string(*std::mismatch(ids.begin(), ids.end(), others.begin()).first);
  }

  /// Adds the sessions of a file. A session that several files contain, as copies, is added once.
  void take_sessions(const fs::path& path, const std::vector<Attributes>& sessions) {
    auto& numbers = session_numbers_.emplace_back();
    for (auto session : sessions) {
      auto without_origin = session;
      without_origin.erase(origin);
      const auto next = static_cast<std::uint32_t>(all_.sessions.size());
      const auto [seen, is_new] = sessions_seen_.emplace(std::move(without_origin), next);
      numbers.push_back(seen->second);
      if (!is_new) continue;
      session.emplace(origin, path.filename().string());
      all_.sessions.push_back(std::move(session));
    }
  }

  void take_row(std::uint32_t number, std::size_t i, const StoredResult& result) {
    const bool is_empty = status_of(result.row) == PlanStatus::pending && result.row.attempts == 0;
    if (is_empty) return;
    auto& chosen = choices_[i];
    const Choice found = choice_of(number, result.row);
    if (chosen.part != Choice::nothing && found.rank() <= chosen.rank()) return;
    chosen = found;
    if (!room_counts_.empty()) room_counts_[i] = static_cast<std::uint32_t>(result.rooms.size());
  }

  /// Compares results of this file with results of the same plans in earlier files. Sorts them by
  /// file, so that only two files are open at a time.
  void compare(std::uint32_t number, const Snapshot& snapshot,
               std::vector<std::size_t> duplicates) {
    std::stable_sort(duplicates.begin(), duplicates.end(), [&](std::size_t a, std::size_t b) {
      return choices_[a].part < choices_[b].part;
    });
    std::optional<Snapshot> other;
    std::uint32_t opened = 0;
    for (const std::size_t i : duplicates) {
      // The row of this file may have been chosen, because it has a field and the earlier one has
      // none.
      auto& chosen = choices_[i];
      chosen.is_duplicate = chosen.is_duplicate || !is_earlier(number);
      if (chosen.part == number) continue;
      if (!other || opened != chosen.part) other.emplace(open(opened = chosen.part));
      const auto first = result_in(*other, i);
      const auto second = result_in(snapshot, i);
      const auto differing = differences_with_fields(first, second);
      if (differing.empty()) continue;
      const std::string text = "plan \"" + first.id + "\" has different results in " +
                               parts_[chosen.part].string() + " and " + parts_[number].string() +
                               ": " + to_text(differing, "in the first", "in the second");
      if (is_deterministic(all_))
        report_.conflicts.push_back(text);
      else
        report_.warnings.push_back(text + "; keeping the first");
    }
  }

  static PlanResult result_in(const Snapshot& snapshot, std::size_t i) {
    StoredResult stored;
    MissingData missing;
    (void)snapshot.load(i, stored, missing);
    PlanResult result = to_result(stored.row);
    result.field = std::move(stored.field);
    result.rooms = std::move(stored.rooms);
    return result;
  }

  void count() {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const auto& choice = choices_[i];
      report_.duplicates += choice.is_duplicate ? 1 : 0;
      if (is_solved(choice.status)) {
        ++report_.done;
      } else if (choice.status == PlanStatus::failed) {
        ++report_.failed;
      } else {
        report_.missing.emplace_back(ids_[i]);
      }
    }
    report_.plans = ids_.size();
    report_.ids = ids_;
    report_.sessions = all_.sessions;
  }

  void write_part(std::uint32_t number, NewResultFile& fresh) {
    const Snapshot snapshot = open(number);
    StoredResult result;
    MissingData missing;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const auto& choice = choices_[i];
      if (choice.part != number) continue;
      if (i >= snapshot.count() || !snapshot.load(i, result, missing) ||
          content_checksum(result.row) != choice.checksum)
        throw RunError(parts_[number].string() + " changed while it was being merged; merge again");
      const auto& numbers = session_numbers_[number];
      if (result.row.session < numbers.size()) {
        result.row.session = numbers[result.row.session];
        update_checksum(result.row);
      }
      fresh.put(result);
    }
  }

  std::vector<fs::path> parts_;  // shard files; then the earlier merged file, if there is one
  std::size_t part_count_;       // number of shard files
  fs::path list_owner_;          // file from which the list of plans was taken
  MergeReport report_;
  FileHeader all_;
  StringList ids_;
  std::vector<Choice> choices_;             // by plan
  std::vector<std::uint32_t> room_counts_;  // number of rooms of the chosen row, by plan
  // Sessions without their origin, and their numbers in the merged file.
  std::map<Attributes, std::uint32_t> sessions_seen_;
  // Numbers of a file's sessions in the merged file, by file.
  std::vector<std::vector<std::uint32_t>> session_numbers_;
};

/// Throws RunError if no merge has written the file, or if the file has journals. A run may have
/// resumed the file after the merge.
void require_merged_file(const fs::path& file) {
  const Snapshot snapshot(file);
  const auto& sessions = snapshot.header().sessions;
  if (snapshot.journals() > 0)
    throw RunError(file.string() + " has journals of a run that resumed it; run 'wallheat repair " +
                   file.string() + "' first");
  const bool is_merged = std::any_of(sessions.begin(), sessions.end(), merged_parts);
  if (!is_merged)
    throw RunError(
        file.string() +
        " already exists and is not a merged file; choose another name, or move it away");
}

void require_free_for_merge(const fs::path& out, const MergeOptions& options) {
  if (options.overwrite) return require_wallheat_file(out);
  if (!has_results(out)) return;
  if (options.update && file_exists(out)) return require_merged_file(out);
  if (!file_exists(out))
    throw RunError(
        journal_path(out, journal_numbers(out).front()).string() +
        " contains results of a killed run; choose another name, or move the journal away");
  throw RunError(out.string() +
                 " already exists; choose another name, use --update to add the shard files, or "
                 "--overwrite to replace it");
}

}  // namespace

std::optional<std::size_t> merged_parts(const Attributes& session) {
  const auto found = session.find(part_count);
  if (found == session.end()) return std::nullopt;
  return std::strtoul(found->second.c_str(), nullptr, 10);
}

bool is_from_part(const Attributes& session) { return session.contains(origin); }

MergeReport merge_results(const fs::path& out, const std::vector<fs::path>& parts,
                          const MergeOptions& options) {
  if (parts.empty()) throw RunError("no shard files to merge into " + out.string());
  return with_error_context(out, {"merge again", "merge again"}, [&] {
    const auto path = path_to_write(out);
    std::error_code absent;  // a file that does not exist is not equivalent to another one
    for (const auto& part : parts)
      if (fs::equivalent(path, part, absent) || path == result_path(part))
        throw RunError(out.string() +
                       " is one of the shard files; choose another name for the merged file");
    const WriteLock lock(path);
    if (options.overwrite || options.update)
      sync_directory_of(path);  // an earlier process may have been killed before this
    require_free_for_merge(path, options);
    Merge merged(parts, options.update && file_exists(path) ? path : fs::path());
    auto& report = merged.report();
    if (!report.conflicts.empty() || (!report.missing.empty() && !options.allow_missing_plans))
      return std::move(report);
    merged.add_session(options.session);
    merged.write(path);
    report.written = true;
    return std::move(report);
  });
}

}  // namespace wallheat
