#include "store/fold.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "io/file_names.hpp"
#include "store/result_path.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

// Ids of files are kept for as many folds, in case a journal of an old one turns up.
constexpr std::size_t most_ancestors = 64;

Campaign successor_of(const Campaign& old) {
  Campaign fresh = old;
  fresh.file_id = new_file_id();
  fresh.ancestors.push_back(old.file_id);
  if (fresh.ancestors.size() > most_ancestors) fresh.ancestors.erase(fresh.ancestors.begin());
  return fresh;
}

/// How many rooms each plan of the new file has.
std::vector<std::uint32_t> room_counts(const View& view, const std::optional<NewOrder>& order) {
  std::vector<std::uint32_t> old;
  if (!view.campaign().keeps_rooms()) return old;
  view.for_each_row([&](const Row& row) { old.push_back(view.room_count(row)); });
  if (!order) return old;
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t index : order->old_index)
    counts.push_back(index == NewOrder::none ? 0 : old[index]);
  return counts;
}

/// A result as that of row i.
void move_to(std::size_t i, StoredResult& result) {
  if (result.row.index == i) return;
  result.row.index = static_cast<std::uint32_t>(i);
  seal(result.row);
  result.rooms = sealed_rooms(result.rooms, i);
}

/// Writes what a view says as a new file in the place of the old one.
Damage write_view(const View& view, const fs::path& path, const std::optional<NewOrder>& order,
                  const Interrupted& interrupted) {
  const std::size_t count = order ? order->ids.size() : view.count();
  std::array<std::vector<std::size_t>, 3> lacking;  // by what
  NewResultFile fresh(path, successor_of(view.campaign()), count, room_counts(view, order));
  StoredResult result;
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::size_t plans_between = 64;
    if (i % plans_between == 0 && interrupted && interrupted()) throw FoldStopped();
    const std::size_t old = order ? order->old_index[i] : i;
    if (order && old == NewOrder::none) {
      fresh.put({.row = pending_row(i, order->ids[i])});
      continue;
    }
    lacking[static_cast<std::size_t>(view.load(old, result))].push_back(old);
    move_to(i, result);
    fresh.put(result);
  }
  fresh.keep_unknown_objects(view.file());
  if (!view.file().is_named())
    throw RunError(path.string() + " was replaced by another process, which did not see this one");
  fresh.finish();
  Damage damage = view.damage();
  damage.add("row", "without the rooms that belong to it",
             lacking[static_cast<std::size_t>(View::Lack::rooms)], view.ids());
  damage.add("field", "damaged", lacking[static_cast<std::size_t>(View::Lack::field)], view.ids());
  return damage;
}

/// What to tell after the system refused a fold.
RunError not_folded(const View& view, const fs::path& path, const std::string& why) {
  const auto megabytes = view.bytes() / 1'000'000 + 1;
  return RunError(path.string() + " cannot be made whole: " + why + "; all " +
                  std::to_string(view.journaled()) + " results are safe in " + path.string() +
                  ".wal*; free " + std::to_string(megabytes) + " MB, then 'wallheat repair " +
                  path.string() + "'");
}

}  // namespace

void take_journals(const fs::path& path) {
  for (const std::size_t number : journal_numbers(path)) {
    const auto journal = journal_path(path, number);
    // If there is one already, a writer is about to find that it came too late with this one.
    if (is_there(journal) && !is_there(taken_path(journal)))
      rename_file(journal, taken_path(journal));
  }
  sync_directory_of(path);
}

void remove_journals(const fs::path& path, std::size_t end) {
  bool is_changed = false;
  for (const std::size_t number : journal_numbers(path)) {
    if (number >= end) continue;
    const auto journal = journal_path(path, number);
    is_changed |= remove_file(journal) | remove_file(taken_path(journal));
  }
  if (is_changed) sync_directory_of(path);
}

std::vector<FileId> files_replaced_at(const fs::path& path) {
  std::vector<FileId> ids;
  try {
    const Campaign old = ResultFile(path).campaign();
    ids = old.ancestors;
    ids.push_back(old.file_id);
  } catch (const std::runtime_error&) {
    // There is none, or it is too damaged to say: its journals do.
  }
  for (const std::size_t number : journal_numbers(path)) {
    ids.push_back(journal_file_id(path, number));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Damage fold(const fs::path& path, const std::optional<NewOrder>& order,
            const Interrupted& interrupted) {
  take_journals(path);
  const View view(path, Viewer::folder);
  Damage damage;
  try {
    damage = write_view(view, path, order, interrupted);
  } catch (const SystemError& error) {
    throw not_folded(view, path, error.what());
  } catch (const Hdf5Error& error) {
    throw not_folded(view, path, error.what());
  }
  remove_journals(path, view.campaign().sessions.size());
  return damage;
}

}  // namespace wallheat::store
