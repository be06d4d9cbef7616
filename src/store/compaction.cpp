#include "io/files.hpp"
#include "store/error_context.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "store/snapshot.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// Writes the contents of a snapshot into a new file, which replaces the old one. Returns false if
/// it was stopped.
bool write_snapshot(const Snapshot& snapshot, const fs::path& path, const StopPredicate& stop,
                    MissingData& missing) {
  FileHeader header = snapshot.header();
  header.predecessor = std::exchange(header.file_id, new_file_id());
  std::vector<std::uint32_t> rooms;
  if (header.keeps_rooms())
    snapshot.for_each_row([&](const ResultRow& row) { rooms.push_back(snapshot.room_count(row)); });
  NewResultFile fresh(path, header, snapshot.count(), rooms);
  StoredResult result;
  for (std::size_t i = 0; i < snapshot.count(); ++i) {
    constexpr std::size_t stop_interval = 64;  // plans
    if (i % stop_interval == 0 && stop && stop()) return false;
    (void)snapshot.load(i, result, missing);
    fresh.put(result);
  }
  fresh.copy_foreign_objects_from(snapshot.file());
  fresh.finish([&] {
    if (!snapshot.file().is_named())
      throw RunError(path.string() +
                     " was replaced by another process, which did not see the lock of this one");
  });
  return true;
}

/// Returns the error for a compaction that failed because of a system error.
RunError compaction_error(const Snapshot& snapshot, const fs::path& path, const std::string& why,
                          int error) {
  const auto megabytes = std::to_string(snapshot.bytes() / 1'000'000 + 1) + " MB";
  const auto hint = hint_for_limit(path, error, megabytes);
  return RunError(path.string() + ": compaction failed: " + why + "; all " +
                  std::to_string(snapshot.journaled_results()) + " results are safe in " +
                  path.string() + ".wal*; " + (hint.empty() ? "free " + megabytes : hint) +
                  ", then run 'wallheat repair " + path.string() + "'");
}

}  // namespace

void fence_journals(const fs::path& path, std::span<const FileId> file_ids) {
  for_each_journal(path, [&](const fs::path& name, const JournalReader& journal) {
    // If the fenced name exists, the writer of this journal has created it after the other one was
    // fenced. It will detect that in commit().
    if (!is_fenced(name) && belongs_to(journal, file_ids) && !file_exists(fenced_path(name)))
      rename_file(name, fenced_path(name));
  });
}

std::vector<Attributes> fence_replaced_journals(const fs::path& path) {
  std::vector<FileId> file_ids;
  for_each_journal(path, [&](const fs::path&, const JournalReader& journal) {
    file_ids.push_back(journal.file_id());
  });
  fence_journals(path, file_ids);
  std::vector<Attributes> identities;  // read after the fencing, so the sizes are final
  for_each_journal(path, [&](const fs::path&, const JournalReader& journal) {
    if (journal.file_id() == 0) return;  // it contains no record
    const Attributes session = session_of(journal);
    Attributes& identity = identities.emplace_back();
    for (const char* name : {journal_file_id, journal_session_id, journal_bytes})
      if (const auto found = session.find(name); found != session.end()) identity.insert(*found);
  });
  return identities;
}

void remove_superfluous_journals(const fs::path& path, const FileHeader& header) {
  // From the last to the first, so that there is never a gap.
  for_each_journal(path, [&](const fs::path& name, JournalReader& journal) {
    if (is_superfluous(journal, header) && remove_file(name)) sync_directory_of(path);
  });
}

std::optional<Damage> compact(const fs::path& path, const StringList* ids,
                              const StopPredicate& stop) {
  fence_journals(path, absorbed_file_ids(ResultFile(path).header()));
  Snapshot snapshot(path, JournalSet::fenced);
  if (ids != nullptr) snapshot.reorder(*ids);
  MissingData missing;
  try {
    if (!write_snapshot(snapshot, path, stop, missing)) return std::nullopt;
  } catch (const SystemError& error) {
    throw compaction_error(snapshot, path, error.what(), error.code);
  } catch (const Hdf5Error& error) {
    throw compaction_error(snapshot, path, error.what() + file_limit_note(path, error.code),
                           error.code);
  }
  remove_superfluous_journals(path, snapshot.header());
  return snapshot.damage_with(missing);
}

}  // namespace wallheat::store
