#include "store/results/repair.hpp"

#include <fcntl.h>

#include <numeric>

#include "io/file_lock.hpp"
#include "store/results/boundary.hpp"
#include "store/results/chunk.hpp"
#include "store/results/find.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

/// Fields of a closed file that are not what their rows say.
std::vector<std::size_t> damaged_fields(const fs::path& path, const Contents& contents) {
  const PosixFile raw(path, O_RDONLY);
  std::vector<std::size_t> damaged;
  std::vector<std::byte> chunk;
  for (std::size_t i = 0; i < contents.rows.size(); ++i) {
    const auto& row = contents.rows[i];
    if (has_field(row) && !read_chunk(raw, contents.addresses[i], row, chunk)) damaged.push_back(i);
  }
  return damaged;
}

/// A file whose writer died. True: there always is something to do.
bool mend_killed(const fs::path& path, Found& found, Findings& findings) {
  // However long ago a field was written: somebody asks for a repair because he doubts the file.
  found.unproven.resize(found.contents.rows.size());
  std::iota(found.unproven.begin(), found.unproven.end(), std::size_t{0});
  if (found.by_log) {
    findings.sentences.push_back("its run did not close it; its log, with " +
                                 std::to_string(found.logged) +
                                 " result(s) of that run, was folded in");
  }
  take_up(path, found, findings);
  return true;
}

/// A closed file: built anew if anything in it is damaged.
bool mend_closed(const fs::path& path, Contents& contents, Findings& findings) {
  const auto damaged = damaged_fields(path, contents);
  for (const auto i : damaged) forget_row(contents, i);
  findings.add_lost("field", "damaged", damaged, contents);
  if (!findings.in_file && damaged.empty()) return false;
  build(path, contents);
  return true;
}

RepairReport repair(const fs::path& path, bool lock_was_there) {
  Findings findings;
  auto found = find(path, findings);
  auto& contents = found.contents;
  const bool rewritten = found.needs_recovery ? mend_killed(path, found, findings)
                                              : mend_closed(path, contents, findings);
  if (rewritten) {
    std::vector<std::size_t> all(contents.rows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    require_equal(path, contents, all);
  }
  const bool had_log = fs::exists(log_path(path));
  remove_durably(log_path(path));
  const bool had_leftovers = remove_leftovers(path);
  if (had_leftovers) findings.sentences.emplace_back("half-written temporary files were removed");
  if (lock_was_there) findings.sentences.emplace_back("the lock of a dead process was removed");

  RepairReport report;
  report.changed = rewritten || had_log || had_leftovers || lock_was_there;
  report.sentences = std::move(findings.sentences);
  for (const auto i : findings.lost) report.lost.push_back(id_of(contents.rows[i]));
  for (const auto& row : contents.rows) {
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
