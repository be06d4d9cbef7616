#include "store/results/open_for_writing.hpp"

#include <numeric>

#include "store/results/log_choice.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

std::vector<std::size_t> all_rows(const Snapshot& snapshot) {
  std::vector<std::size_t> rows(snapshot.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

OpenedFile by_log(LogReading log, DamageReport& damage) {
  if (!log.damage.empty()) damage.sentences.push_back(log.damage);
  OpenedFile found;
  found.needs_recovery = found.by_log = true;
  found.logged = log.stored_here.size();
  found.unproven = log.damaged ? all_rows(log.snapshot) : std::move(log.stored_here);
  found.doubtful = std::move(log.damaged_rows);
  found.snapshot = std::move(log.snapshot);
  return found;
}

/// A file that was left open and whose log is gone, with nothing but itself to go by.
OpenedFile open_without_log(const StoreEnvironment& env, const fs::path& path,
                            DamageReport& damage) {
  damage.sentences.emplace_back(
      "the file was left open and has no usable log; what it holds was taken");
  refuse_other_versions(env, path);  // before anything is changed
  open_file(env, path, Access::take_up).close("close the file");
  OpenedFile found;
  found.snapshot = read_snapshot(env, path, Access::read, Offsets::find, damage);
  found.needs_recovery = true;
  found.unproven = all_rows(found.snapshot);
  return found;
}

}  // namespace

OpenedFile open_for_writing(const StoreEnvironment& env, const fs::path& path,
                            DamageReport& damage) {
  // The last writer may have ended between a write or rename and its sync, or because a sync
  // failed. What is read here is built on and must not be lost again: to mend a file by a log can
  // overwrite the fields that an earlier state of the log names.
  sync_directory_of(env.system, path);
  if (is_regular_file(env.system, log_path(path))) {
    forget_cached(env.system, log_path(path));
    if (is_regular_file(env.system, path)) forget_cached(env.system, path);
  }
  const auto state = peek(env, path);
  auto choice = choose_log(env, path, state);
  if (choice.log) return by_log(std::move(*choice.log), damage);
  if (!choice.passed_over.empty()) damage.sentences.push_back(choice.passed_over);
  switch (state) {
    case FileState::missing:
      throw RunError(path.string() + " does not exist; leave --resume out to start it");
    case FileState::foreign:
      throw RunError(path.string() + " is not an HDF5 file; name another, or remove it first");
    case FileState::left_open:
      return open_without_log(env, path, damage);
    case FileState::closed:
      break;
  }
  OpenedFile found;
  found.snapshot = read_snapshot(env, path, Access::read, Offsets::find, damage);
  found.superseded_log = choice.superseded;
  return found;
}

void take_up(const StoreEnvironment& env, const fs::path& path, OpenedFile& found,
             DamageReport& damage) {
  recover(env, path, found.snapshot, found.unproven, damage);
  damage.add_lost_with_log(found.doubtful, found.snapshot);
}

}  // namespace wallheat::store
