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
std::vector<std::size_t> damaged_fields(const fs::path& path, const Snapshot& snapshot) {
  const PosixFile raw(path, O_RDONLY);
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
bool mend_killed(const fs::path& path, OpenedFile& found, DamageReport& damage) {
  // However long ago a field was written: somebody asks for a repair because he doubts the file.
  found.unproven.resize(found.snapshot.rows.size());
  std::iota(found.unproven.begin(), found.unproven.end(), std::size_t{0});
  if (found.by_log) {
    damage.sentences.push_back("its run did not close it; its log, with " +
                               std::to_string(found.logged) +
                               " result(s) of that run, was folded in");
  }
  take_up(path, found, damage);
  return true;
}

/// A closed file: built anew if anything in it is damaged.
bool mend_closed(const fs::path& path, Snapshot& snapshot, DamageReport& damage) {
  const auto damaged = damaged_fields(path, snapshot);
  for (const auto i : damaged) forget_row(snapshot, i);
  damage.add_lost("field", "damaged", damaged, snapshot);
  if (!damage.in_file && damaged.empty()) return false;
  build(path, snapshot);
  return true;
}

RepairReport repair(const fs::path& path, bool lock_was_there) {
  DamageReport damage;
  auto found = open_for_writing(path, damage);
  auto& snapshot = found.snapshot;
  const bool rewritten =
      found.needs_recovery ? mend_killed(path, found, damage) : mend_closed(path, snapshot, damage);
  if (rewritten) {
    std::vector<std::size_t> all(snapshot.rows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    require_equal(path, snapshot, all);
  }
  const bool had_log = fs::exists(log_path(path));
  remove_durably(log_path(path));
  const bool had_leftovers = remove_leftovers(path);
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

RepairReport repair_results(const fs::path& file) {
  const Advice advice{"make room and repair it again",
                      "it cannot be repaired: bring back a copy of it, or solve anew"};
  return in_one_sentence(file, advice, [&] {
    const auto path = real_path(file);
    if (!fs::exists(path) && !fs::exists(log_path(path))) {
      throw RunError(path.string() + " does not exist");
    }
    const bool lock_was_there = fs::exists(lock_path(path));
    return with_file_lock(path, [&] {
      require_one_name(path);
      return repair(path, lock_was_there);
    });
  });
}

}  // namespace wallheat
