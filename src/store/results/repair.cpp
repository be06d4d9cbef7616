#include "store/results/repair.hpp"

#include <fcntl.h>

#include <numeric>

#include "io/file_lock.hpp"
#include "store/results/boundary.hpp"
#include "store/results/chunk.hpp"
#include "store/results/open_for_writing.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

/// Fields of a closed file that are not what their rows say.
std::vector<std::size_t> damaged_fields(const StoreEnvironment& env, const fs::path& path,
                                        const Snapshot& snapshot) {
  const PosixFile raw(env.system, path, O_RDONLY);
  std::vector<std::size_t> damaged;
  std::vector<std::byte> chunk;
  std::size_t i = 0;
  for (const Row& row : snapshot.rows) {
    if (has_field(row) && !read_chunk(raw, snapshot.offsets[i], row, chunk)) damaged.push_back(i);
    ++i;
  }
  return damaged;
}

/// A file whose writer died. True: there always is something to do.
bool mend_killed(const StoreEnvironment& env, const fs::path& path, OpenedFile& found,
                 DamageReport& damage) {
  // However long ago a field was written: somebody asks for a repair because he doubts the file.
  found.unproven.resize(found.snapshot.rows.size());
  std::iota(found.unproven.begin(), found.unproven.end(), std::size_t{0});
  if (found.by_log) {
    damage.sentences.push_back("its run did not close it; its log, with " +
                               std::to_string(found.logged) +
                               " result(s) of that run, was folded in");
  }
  take_up(env, path, found, damage);
  return true;
}

/// A closed file: built anew if anything in it is damaged.
bool mend_closed(const StoreEnvironment& env, const fs::path& path, Snapshot& snapshot,
                 DamageReport& damage) {
  const auto damaged = damaged_fields(env, path, snapshot);
  for (const auto i : damaged) forget_row(snapshot, i);
  damage.add_lost("field", "damaged", damaged, snapshot);
  if (!damage.in_file && damaged.empty()) return false;
  build(env, path, snapshot);
  return true;
}

RepairReport repair(const StoreEnvironment& env, const fs::path& path, bool lock_was_there) {
  DamageReport damage;
  auto found = open_for_writing(env, path, damage);
  auto& snapshot = found.snapshot;
  const bool rewritten = found.needs_recovery ? mend_killed(env, path, found, damage)
                                              : mend_closed(env, path, snapshot, damage);
  if (rewritten) {
    std::vector<std::size_t> all(snapshot.rows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    require_equal(env, path, snapshot, all);
  }
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
