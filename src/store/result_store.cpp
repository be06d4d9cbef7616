#include "store/result_store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <sstream>
#include <utility>

#include "core/text.hpp"
#include "io/deflate.hpp"
#include "io/files.hpp"
#include "store/error_context.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "store/snapshot.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

const ErrorHints to_resume{"run again with --resume", "run again with --resume"};
const ErrorHints to_create{to_resume.again, "check that the directory is writable"};
const ErrorHints read_only{to_resume.again,
                           "restore a copy of it, or start again with --overwrite"};

/// Returns the ID of a plan as rows store it. An ID that is too long is truncated, and a checksum
/// is appended to keep it unique.
std::string stored_id(std::string_view id) {
  if (id.size() <= max_id_length) return std::string(id);
  std::array<char, 16> end{};
  std::snprintf(end.data(), end.size(), "~%08x", crc32_of(std::as_bytes(std::span(id))));
  std::array<char, max_id_length + 1 - 9> start{};
  copy_fixed_text(start, id);
  return std::string(fixed_text(start)) + end.data();
}

ResultFileSpec storable(const fs::path& path, ResultFileSpec plan) {
  plan.settings = store::truncate_at_nul(std::move(plan.settings));
  const bool all_fit = std::all_of(plan.ids.begin(), plan.ids.end(),
                                   [](std::string_view id) { return id.size() <= max_id_length; });
  if (!all_fit) {
    StringList stored;
    for (const std::string_view id : plan.ids) stored.push_back(stored_id(id));
    plan.ids = stored;
  }
  for (const std::string_view id : plan.ids)
    if (id.empty() || id.find('\0') != std::string::npos)
      throw RunError(path.string() + " cannot store the plan ID \"" + std::string(id) +
                     "\": it is empty or contains a NUL");
  return plan;
}

/// Throws RunError if a new file must not have this name.
void require_free(const fs::path& path, bool overwrite) {
  const bool exists = file_exists(path);
  if (!overwrite && exists)
    throw RunError(path.string() +
                   " already exists; use --resume to continue it or --overwrite to replace it");
  if (!overwrite && has_results(path)) throw_missing(path);
  require_wallheat_file(path);
}

/// Returns true if no plan of a file is solved, so that nothing is lost if the file gets other
/// settings. Returns false for a damaged file, which may have lost results.
bool has_no_solved_plan(const Snapshot& snapshot) {
  bool is_any_solved = false;
  snapshot.for_each_row(
      [&](const ResultRow& row) { is_any_solved = is_any_solved || is_solved(status_of(row)); });
  return !is_any_solved && snapshot.damage().messages.empty();
}

/// Returns the names of the files of a program that have changed or are new, from two values of the
/// setting solver_files, which contains the name and the hash of each file; "--solver-command" if
/// there are none.
std::string changed_parts(const std::string& before, const std::string& after) {
  std::string names;
  std::istringstream entries(after);
  for (std::string entry; std::getline(entries >> std::ws, entry, ',');)
    if (before.find(entry) == std::string::npos)
      names += (names.empty() ? "" : ", ") + entry.substr(0, entry.rfind(' '));
  return names.empty() ? "--solver-command" : names;
}

/// Takes a snapshot of an existing file, with the rows in the order of the given plans, and adds
/// messages about damage to `warnings`. Returns nullopt, and adds a warning, if the file has other
/// settings but no solved plan: then a new file replaces it. A run whose program could not start
/// leaves such a file. Throws RunError if the file does not exist or belongs to another campaign.
std::optional<Snapshot> snapshot_to_resume(const fs::path& path, const ResultFileSpec& plan,
                                           std::vector<std::string>& warnings) {
  require_no_hard_links(path);
  if (!file_exists(path) && has_results(path)) require_free(path, false);
  return with_error_context(path, read_only, [&]() -> std::optional<Snapshot> {
    Snapshot snapshot(path);
    const FileHeader& header = snapshot.header();
    FileHeader wanted{.settings = plan.settings, .save_fields = plan.save_fields};
    const auto find_differences = [&](bool accepts_changed_program) {
      for (const std::string& name : plan.program_settings) {
        if (!accepts_changed_program) break;
        wanted.settings.erase(name);
        if (const auto known = header.settings.find(name); known != header.settings.end())
          wanted.settings.insert(*known);
      }
      return differences(header, "in the file", wanted, "in this run");
    };
    const auto found = find_differences(plan.accepts_changed_program);
    if (!found.empty() && has_no_solved_plan(snapshot)) {
      warnings.push_back(
          path.string() +
          " contains no solved plan; replacing its settings by those of this run: " + found);
      return std::nullopt;
    }
    if (!found.empty() && find_differences(true).empty())
      throw RunError(
          "the program has changed since " + path.string() + " was written (" +
          changed_parts(header.settings.at("solver_files"), plan.settings.at("solver_files")) +
          "); add --allow-changed-solver to continue with results of both programs, or "
          "solve all plans again with --overwrite");
    if (!found.empty())
      throw RunError(path.string() + " was written with other settings: " + found +
                     "; use the settings of the file, or choose another file with --out");
    snapshot.reorder(plan.ids);
    warnings = snapshot.damage().messages;
    return snapshot;
  });
}

/// Calls take() with the rows with which a session begins: those of the snapshot, or pending ones
/// if it is null.
void for_each_initial_row(const Snapshot* found, const StringList& ids,
                          const std::function<void(const PlanResult&)>& take) {
  PlanResult result;
  const auto take_row = [&](const ResultRow& row) {
    assign_row(row, result);
    take(result);
  };
  if (found != nullptr) return found->for_each_row(take_row);
  for (std::size_t i = 0; i < ids.size(); ++i) take_row(pending_row(i, ids[i]));
}

}  // namespace

std::string hdf5_library() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  checked(H5get_libversion(&major, &minor, &release), "get the version of HDF5");
  return "HDF5 " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(release);
}

void prepare_program_for_hdf5() {
  (void)H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

ResultClaim::ResultClaim(fs::path file, OpenMode mode_, StopPredicate stop_)
    : mode(mode_), stop(std::move(stop_)) {
  const bool is_new = mode != OpenMode::resume;
  with_error_context(file, is_new ? to_create : to_resume, [&] {
    path = path_to_write(file);
    lock.emplace(path, stop);
    if (is_new) require_free(path, mode == OpenMode::overwrite);
    // The previous holder of the lock may be stopped, not dead. After its journals are fenced, it
    // cannot acknowledge another result.
    if (!is_new && lock->took_over())
      fence_journals(path, absorbed_file_ids(store::ResultFile(path).header()));
  });
}

template <class Step>
auto ResultStore::write(Step step) {
  return with_error_context(path(), to_resume, [&] {
    if (poisoned_)
      throw RunError(path().string() + " is closed for writing, because an earlier write failed");
    poisoned_ = true;
    auto result = step();
    poisoned_ = false;
    return result;
  });
}

ResultStore::ResultStore(ResultClaim claim, ResultFileSpec plan, const Attributes& session)
    : claim_(std::move(claim)),
      plan_(storable(path(), std::move(plan))),
      session_(store::truncate_at_nul(session)) {
  session_[journal_session_id] = to_text(new_file_id());
  with_error_context(path(), to_resume, [&] {
    // An earlier process may have been killed between a rename and the sync of the directory.
    if (claim_.mode != OpenMode::create) sync_directory_of(path());
    if (claim_.mode != OpenMode::resume) return;
    auto found = snapshot_to_resume(path(), plan_, warnings_);
    if (!found) return;
    existing_ = std::make_unique<Snapshot>(*std::move(found));
    bytes_ = existing_->bytes();
  });
}

ResultStore::~ResultStore() = default;

std::vector<std::string> ResultStore::dry_run(const fs::path& file, ResultFileSpec plan,
                                              OpenMode mode,
                                              const std::function<void(const PlanResult&)>& take) {
  return with_error_context(file, to_resume, [&] {
    const auto path = path_to_write(file);
    if (const auto holder = lock_holder_of(path); holder.life == LockHolder::State::held)
      throw_already_locked(path, holder);
    plan = storable(path, std::move(plan));
    std::optional<Snapshot> found;
    std::vector<std::string> warnings;
    if (mode == OpenMode::resume)
      found = snapshot_to_resume(path, plan, warnings);
    else
      require_free(path, mode == OpenMode::overwrite);
    for_each_initial_row(found ? &*found : nullptr, plan.ids, take);
    return warnings;
  });
}

std::string ResultStore::session_id() const { return session_.at(store::journal_session_id); }

Attributes ResultStore::journaled_session() const {
  if (!existing_ || existing_->journals() == 0) return {};
  return existing_->header().sessions.back();
}

void ResultStore::for_each_existing_row(const std::function<void(const PlanResult&)>& take) const {
  if (!journal_) for_each_initial_row(existing_.get(), plan_.ids, take);
}

bool ResultStore::begin_unless_stopped() {
  return write([&] { return journal_ || begin_session(); });
}

bool ResultStore::begin_session() {
  claim_.lock->require_no_successor();
  constexpr std::size_t max_journals = 64;
  const auto before = std::chrono::steady_clock::now();
  bool is_made = true;
  if (!existing_) {
    create_file();
  } else if (existing_->is_arranged() || existing_->journals() >= max_journals) {
    if (!compact_all(claim_.stop)) return false;
    existing_.reset();
  } else {
    is_made = false;
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - before;
  begin_journal();
  constexpr std::uint64_t enough_to_measure = 4 << 20;
  if (is_made && file_->bytes() > enough_to_measure)
    bytes_per_s_ = static_cast<double>(file_->bytes()) / passed.count();
  return true;
}

void ResultStore::create_file() {
  is_first_ = !has_results(path());
  const FileHeader header{.file_id = new_file_id(),
                          .replaced = fence_replaced_journals(path()),
                          .settings = plan_.settings,
                          .save_fields = plan_.save_fields};
  NewResultFile fresh(path(), header, plan_.ids.size(), {});
  for (std::size_t i = 0; i < plan_.ids.size(); ++i)
    fresh.put({.row = pending_row(i, plan_.ids[i])});
  fresh.finish();
  // The journals must not be removed earlier: until the new file has its name, a crash leaves the
  // old file, and all its results must be found.
  remove_superfluous_journals(path(), header);
}

/// Removes the remains of a compaction that was killed: absorbed journals and temporary files.
void ResultStore::remove_leftovers() {
  for (const fs::path& journal : existing_->empty_journals()) remove_file(journal);
  remove_superfluous_journals(path(), existing_->file().header());
  remove_temporary_files(path());
}

void ResultStore::begin_journal() {
  if (existing_) {
    remove_leftovers();
    file_ = existing_->take_file();
    existing_.reset();
  } else {
    file_ = std::make_unique<ResultFile>(path());
  }
  const std::size_t first = file_->header().sessions.size();
  file_->open_to_write();
  JournalWriter journal(path(), first, file_->header().file_id, session_);
  // Another process that does not see the lock of this one may be compacting the file. Results must
  // be stored in a journal that it reads, or in one that belongs to its new file. If this journal
  // is neither, it stays as an empty file, because a third process may have created a later one.
  if (file_exists(fenced_path(journal.path())) || !file_->is_named())
    throw RunError(path().string() + " was changed by another process; run again with --resume");
  journal_ = std::make_unique<JournalWriter>(std::move(journal));
  bytes_ = std::max<std::uint64_t>(bytes_, file_->bytes());
}

ResultRow ResultStore::to_stored_row(const PlanResult& result) const {
  const auto id = stored_id(result.id);
  if (result.index >= plan_.ids.size() || plan_.ids[result.index] != id)
    throw RunError(path().string() + " has no row " + std::to_string(result.index) +
                   " for plan \"" + result.id + "\"");
  ResultRow row = to_row(result);
  copy_fixed_text(row.id, id);
  row.session = static_cast<std::uint32_t>(journal_->number());
  row.field_bytes = plan_.save_fields ? static_cast<std::int64_t>(result.field.size()) : 0;
  if (row.field_bytes == 0) row.field_crc32 = 0;
  update_checksum(row);
  return row;
}

void ResultStore::add_to_batch(const ResultRow& row, const PlanResult& result) {
  std::vector<RoomResult> rooms;
  if (file_->header().has_rooms(row)) rooms = rooms_with_checksums(result.rooms, result.index);
  std::span<const std::byte> field;
  if (has_field(row)) field = result.field;
  journal_->add(row, rooms, field);
  bytes_ += sizeof row + rooms.size() * sizeof(RoomResult) + field.size();
}

void ResultStore::store(std::span<const PlanResult> results) {
  if (results.empty()) return;
  if (!begin_unless_stopped())
    throw RunError(path().string() + " was not created, because the run was stopped");
  std::vector<ResultRow> rows;
  for (const auto& result : results) rows.push_back(to_stored_row(result));
  stored_ += write([&] {
    for (std::size_t k = 0; k < results.size(); ++k) add_to_batch(rows[k], results[k]);
    journal_->commit();  // acknowledges the results
    for (const ResultRow& row : rows) file_->write_row(row);
    return results.size();
  });
}

void ResultStore::require_named() {
  if (!journal_) return;
  try {
    if (file_->is_named()) return;
    (void)stat_if_exists(path());  // throws if the file system does not respond
  } catch (const SystemError& error) {
    if (error.code != ESTALE) return;  // a file system that does not respond has lost nothing
  }
  poisoned_ = true;
  journal_->require_named();  // throws if another process has compacted the file
  const std::string journal = journal_->path().string();
  const std::string kept =
      count_text(stored_, "result") + " of this session " + (stored_ == 1 ? "is" : "are");
  std::string reason;
  try {
    if (file_->write_again_if_missing())
      throw RunError(
          path().string() +
          " was removed or moved during the run, so it was written again from the open file; "
          "nothing is lost: " +
          kept + " in " + journal +
          "; run again with --resume, or with --overwrite to discard all results");
  } catch (const SystemError& error) {
    reason = std::string(" (") + error.what() + ")";
  }
  throw RunError(path().string() + " was removed or replaced during the run" + reason + "; " +
                 kept + " in " + journal +
                 "; move the file back or restore a copy of it, then run again with --resume: the "
                 "journal alone contains neither the list of plans nor the settings");
}

void ResultStore::end_session(const Attributes& end, bool finished) {
  if (!finished && stored_ == 0) return remove_all();
  journal_->add_end(store::truncate_at_nul(end));
  journal_->commit();
}

ResultStore::CloseReport ResultStore::close(const Attributes& end, bool finished,
                                            const StopPredicate& stop) {
  return write([&] {
    if (finished && !journal_ && !existing_) (void)begin_session();
    require_named();
    if (journal_) end_session(end, finished);
    const bool has_journals = journal_ || (existing_ && existing_->journals() > 0);
    const bool must_compact = finished && (has_journals || (existing_ && existing_->is_arranged()));
    if (finished && !must_compact && existing_) remove_leftovers();
    journal_.reset();
    file_.reset();
    existing_.reset();
    if (must_compact) closed_.stopped = !compact_all(stop);
    closed_.lock = std::exchange(claim_.lock, std::nullopt);
    return std::move(closed_);
  });
}

void ResultStore::remove_all() {
  journal_->remove();
  const bool is_alone = journal_->number() == 0 && !file_exists(journal_path(path(), 1));
  if (is_first_ && is_alone && file_->is_named()) remove_file(path());
  sync_directory_of(path());
  journal_.reset();
}

bool ResultStore::compact_all(const StopPredicate& stop) {
  claim_.lock->require_no_successor();
  const auto damage = compact(path(), &plan_.ids, stop);
  if (!damage) return false;
  closed_.messages.insert(closed_.messages.end(), damage->messages.begin(), damage->messages.end());
  closed_.lost += damage->lost.size();
  return true;
}

}  // namespace wallheat
