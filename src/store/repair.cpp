#include "store/repair.hpp"

#include "core/text.hpp"
#include "io/files.hpp"
#include "store/error_context.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "store/snapshot.hpp"
#include "store/write_lock.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

/// Returns true if rooms or fields of any row are missing or damaged.
bool lacks_anything(const Snapshot& snapshot) {
  StoredResult result;
  MissingData missing;
  for (std::size_t i = 0; i < snapshot.count(); ++i)
    if (!snapshot.load(i, result, missing)) return true;
  return false;
}

RepairReport repair(const fs::path& path, const WriteLock& lock, bool lock_was_there) {
  RepairReport report;
  if (is_marked_as_open(path) && read_mark(path).is_result_file) {
    clear_open_mark(path);
    report.messages.emplace_back("the open-for-writing mark of another program was removed");
  }
  std::optional<Snapshot> snapshot(std::in_place, path);
  const std::size_t journals = snapshot->journals();
  if (journals > 0)
    report.messages.push_back("compacted: " + count_text(snapshot->journaled_results(), "result") +
                              " of " + count_text(journals, "journal"));
  const bool compacts =
      journals > 0 || !snapshot->damage().lost.empty() || lacks_anything(*snapshot);
  if (compacts) {
    snapshot.reset();
    lock.require_no_successor();
    const auto damage = compact(path);
    report.messages.insert(report.messages.end(), damage->messages.begin(), damage->messages.end());
    snapshot.emplace(path);
    for (const std::size_t i : damage->lost) report.lost.emplace_back(snapshot->ids()[i]);
  }
  const bool had_leftovers = remove_temporary_files(path);
  if (had_leftovers) report.messages.emplace_back("an incomplete temporary file was removed");
  if (lock_was_there)
    report.messages.emplace_back("the lock of a process that has ended was removed");
  for (const fs::path& empty : snapshot->empty_journals()) {
    remove_file(empty);
    report.messages.push_back(empty.string() + " is empty and was removed");
  }
  remove_superfluous_journals(path, snapshot->file().header());
  report.changed = !report.messages.empty();
  snapshot->for_each_row([&](const ResultRow& row) {
    const auto status = status_of(row);
    ++(status == PlanStatus::pending  ? report.pending
       : status == PlanStatus::failed ? report.failed
                                      : report.done);
  });
  return report;
}

}  // namespace

RepairReport repair_results(const fs::path& file) {
  const ErrorHints hints{"repair it again",
                         "it cannot be repaired: restore a copy of it, or solve all plans again"};
  return with_error_context(file, hints, [&] {
    const auto path = path_to_write(file);
    if (!file_exists(path)) throw_missing(path);
    const bool lock_was_there = file_exists(lock_path(path));
    const WriteLock lock(path);
    require_no_hard_links(path);
    return repair(path, lock, lock_was_there);
  });
}

}  // namespace wallheat
