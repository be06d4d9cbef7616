#include "store/results/open_for_reading.hpp"

#include <fcntl.h>

#include <algorithm>

#include "store/results/log_choice.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// Answers that a damaged or older log lacks.
void adopt_answers(const StoreEnvironment& env, const fs::path& path, FileState state,
                   const Snapshot& in_file, ReadView& view) {
  std::optional<Handle> file;
  std::optional<FieldTables> fields;
  std::size_t place = 0;
  for (const Row& row : in_file.rows) {
    const std::size_t i = place++;
    if (i == view.snapshot.rows.size()) break;
    if (!says_more_than_log(row, view.snapshot.rows[i])) continue;
    if (!file) {
      file = open_file(env, path, state == FileState::closed ? Access::read : Access::read_live);
      fields.emplace(*file);
    }
    adopt(view.snapshot, i, row, *fields, *view.raw);
  }
}

/// A log is complete, and unlike the HDF5 file it can be read at any moment of its writer's life or
/// death.
void view_of_log(const StoreEnvironment& env, const fs::path& path, FileState state,
                 LogChoice& choice, ReadView& view) {
  auto& log = *choice.log;
  view.snapshot = std::move(log.snapshot);
  view.has_offsets = true;
  if (choice.in_file) {
    try {
      adopt_answers(env, path, state, *choice.in_file, view);
    } catch (const Hdf5Error&) {
      // The file is damaged or being changed; what the log says stands.
    }
  }
  DamageReport damage;
  if (log.damaged) damage.sentences.push_back(log.damage);
  damage.add_lost_with_log(std::move(log.damaged_rows), view.snapshot);
  view.damage = std::move(damage.sentences);
  view.damaged = std::move(damage.lost);
}

ReadView try_to_open(const StoreEnvironment& env, const fs::path& path, Offsets offsets) {
  const auto state = peek(env, path);
  ReadView view;
  DamageReport damage;
  if (state != FileState::missing) view.raw.emplace(env.system, path, O_RDONLY);
  auto choice = choose_log(env, path, state);
  if (choice.log) {
    view_of_log(env, path, state, choice, view);
    return view;
  }
  if (!choice.passed_over.empty() && !choice.superseded) {
    damage.sentences.push_back(choice.passed_over);
  }
  if (state == FileState::missing) throw RunError(path.string() + " does not exist");
  if (state == FileState::foreign) throw RunError(path.string() + " is not an HDF5 file");
  view.closed_well = state == FileState::closed;
  if (!view.closed_well && choice.passed_over.empty()) {
    // Closed, and its log removed, after the look at its state?
    if (peek(env, path) != state) throw RunError(path.string() + " changed while it was read");
    damage.sentences.emplace_back(
        "the file was left open and there is no log beside it, so the results that were stored "
        "last may be missing; if the file has another name (a hard link), the log lies there");
  }
  view.has_offsets = offsets == Offsets::find;
  try {
    view.snapshot = read_snapshot(env, path, view.closed_well ? Access::read : Access::read_live,
                                  offsets, damage);
    view.damage = std::move(damage.sentences);
    view.damaged = std::move(damage.lost);
    std::sort(view.damaged.begin(), view.damaged.end());
  } catch (const Hdf5Error& error) {
    throw RunError(path.string() +
                   (view.closed_well ? " is damaged, " : " was left open by a killed run, ") +
                   error.what() + "; 'wallheat repair' may mend it");
  }
  return view;
}

}  // namespace

/// A writer may begin or end its session between two steps of a look; then the next one succeeds.
ReadView open_for_reading(const StoreEnvironment& env, const fs::path& path, Offsets offsets) {
  constexpr int tries = 5;
  for (int attempt = 1;; ++attempt) {
    try {
      return try_to_open(env, path, offsets);
    } catch (const RunError&) {
      if (attempt == tries) throw;
    } catch (const fs::filesystem_error& error) {
      throw RunError(path.string() + " cannot be read: " + error.code().message());
    }
  }
}

}  // namespace wallheat::store
