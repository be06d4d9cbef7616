#include "store/repair.hpp"

#include "core/text.hpp"
#include "io/files.hpp"
#include "io/write_lock.hpp"
#include "store/boundary.hpp"
#include "store/result_path.hpp"
#include "store/view.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

/// Whether anything that a row says it has is damaged.
bool lacks_anything(const View& view) {
  StoredResult result;
  Lacking lacking;
  for (std::size_t i = 0; i < view.count(); ++i)
    if (!view.load(i, result, lacking)) return true;
  return false;
}

RepairReport repair(const fs::path& path, bool lock_was_there) {
  RepairReport report;
  std::optional<View> view(std::in_place, path);
  const std::size_t journals = view->journals();
  if (journals > 0)
    report.sentences.push_back("folded in: " + counted(view->journaled(), "result") + " of " +
                               counted(journals, "journal"));
  const bool folds = journals > 0 || !view->damage().lost.empty() || lacks_anything(*view);
  if (folds) {
    view.reset();
    const auto damage = fold(path);
    report.sentences.insert(report.sentences.end(), damage->sentences.begin(),
                            damage->sentences.end());
    view.emplace(path);
    for (const std::size_t i : damage->lost) report.lost.emplace_back(view->ids()[i]);
  }
  const bool had_leftovers = remove_file(temporary_path(path));
  if (had_leftovers) report.sentences.emplace_back("a half-written temporary file was removed");
  if (lock_was_there) report.sentences.emplace_back("the lock of a dead process was removed");
  for (const fs::path& empty : view->empty_journals()) {
    remove_file(empty);
    report.sentences.push_back(empty.string() + ", which holds nothing, was removed");
  }
  remove_journals(path, view->file().campaign().sessions.size());
  report.changed = !report.sentences.empty();
  view->for_each_row([&](const Row& row) {
    const auto status = status_of(row);
    ++(status == PlanStatus::pending  ? report.pending
       : status == PlanStatus::failed ? report.failed
                                      : report.done);
  });
  return report;
}

}  // namespace

RepairReport repair_results(const fs::path& file) {
  const Remedies remedies{"make room and repair it again",
                          "it cannot be repaired: bring back a copy of it, or solve anew"};
  return in_one_sentence(file, remedies, [&] {
    const auto path = path_to_write(file);
    if (!is_there(path)) throw RunError(path.string() + " does not exist");
    const bool lock_was_there = is_there(lock_path(path));
    const WriteLock lock(path);
    require_one_name(path);
    return repair(path, lock_was_there);
  });
}

}  // namespace wallheat
