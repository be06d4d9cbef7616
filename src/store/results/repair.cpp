#include "store/results/repair.hpp"

#include <fcntl.h>

#include "io/file_lock.hpp"
#include "store/results/boundary.hpp"
#include "store/results/opening.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

/// A file whose writer died. True: there always is something to do.
bool mend_killed(const StoreEnvironment& env, const fs::path& path, OpenedFile& found,
                 DamageReport& damage) {
  // However long ago a field was written: somebody asks for a repair because he doubts the file.
  found.unproven = all_rows(found.snapshot);
  if (found.by_log) {
    damage.sentences.push_back("its run did not close it; its log, with " +
                               std::to_string(found.logged) +
                               " result(s) of that run, was folded in");
  }
  recover(env, path, found, damage);
  return true;
}

/// A closed file: built anew if anything in it is damaged.
bool mend_closed(const StoreEnvironment& env, const fs::path& path, Snapshot& snapshot,
                 DamageReport& damage) {
  const std::size_t lost = damage.lost.size();
  forget_damaged_fields(PosixFile(env.system, path, O_RDONLY), snapshot, damage);
  if (!damage.in_file && damage.lost.size() == lost) return false;
  build(env, path, snapshot);
  return true;
}

RepairReport repair(const StoreEnvironment& env, const fs::path& path, bool lock_was_there) {
  DamageReport damage;
  auto found = open_for_writing(env, path, damage);
  auto& snapshot = found.snapshot;
  const bool rewritten = found.needs_recovery ? mend_killed(env, path, found, damage)
                                              : mend_closed(env, path, snapshot, damage);
  if (rewritten) require_equal(env, path, snapshot, all_rows(snapshot));
  const bool had_log = exists(env.system, log_path(path));
  remove_durably(env.system, log_path(path));
  const bool had_leftovers = remove_leftovers(env, path);
  if (had_leftovers) damage.sentences.emplace_back("half-written temporary files were removed");
  if (lock_was_there) damage.sentences.emplace_back("the lock of a dead process was removed");

  RepairReport report;
  report.changed = rewritten || had_log || had_leftovers || lock_was_there;
  report.sentences = std::move(damage.sentences);
  for (const auto i : damage.lost) report.lost.push_back(id_of(snapshot.rows[i]));
  for (const auto& row : snapshot.rows) {
    const auto status = status_of(row);
    ++(status == PlanStatus::pending  ? report.pending
       : status == PlanStatus::failed ? report.failed
                                      : report.done);
  }
  return report;
}

}  // namespace

RepairReport repair_results(const fs::path& file, const StoreEnvironment& env) {
  const Advice advice{"make room and repair it again",
                      "it cannot be repaired: bring back a copy of it, or solve anew"};
  return in_one_sentence(file, advice, [&] {
    const auto path = real_path(env, file);
    if (!exists(env.system, path) && !exists(env.system, log_path(path))) {
      throw RunError(path.string() + " does not exist");
    }
    const bool lock_was_there = exists(env.system, lock_path(path));
    return with_file_lock(env.system, path, [&] {
      require_one_name(env, path);
      return repair(env, path, lock_was_there);
    });
  });
}

}  // namespace wallheat
