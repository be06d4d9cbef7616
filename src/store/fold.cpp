#include "io/files.hpp"
#include "store/result_path.hpp"
#include "store/view.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// Writes what a view says as a new file in the place of the old one; false if it was stopped.
bool write_view(const View& view, const fs::path& path, const StopAsked& stop, Lacking& lacking) {
  Campaign campaign = view.campaign();
  campaign.predecessor = std::exchange(campaign.file_id, new_file_id());
  std::vector<std::uint32_t> rooms;
  if (campaign.keeps_rooms())
    view.for_each_row([&](const Row& row) { rooms.push_back(view.room_count(row)); });
  NewResultFile fresh(path, campaign, view.count(), rooms);
  StoredResult result;
  for (std::size_t i = 0; i < view.count(); ++i) {
    constexpr std::size_t plans_between = 64;
    if (i % plans_between == 0 && stop && stop()) return false;
    (void)view.load(i, result, lacking);
    fresh.put(result);
  }
  fresh.keep_unknown_objects(view.file());
  if (!view.file().is_named())
    throw RunError(path.string() + " was replaced by another process, which did not see this one");
  fresh.finish();
  return true;
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
}

void remove_journals(const fs::path& path, std::size_t end) {
  const auto numbers = journal_numbers(path);
  // From the last one to the first, one by one: so that nothing ever leaves a gap.
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    if (*number >= end) continue;
    const auto journal = journal_path(path, *number);
    const bool was_there = remove_file(journal);
    if (remove_file(taken_path(journal)) || was_there) sync_directory_of(path);
  }
}

std::optional<Damage> fold(const fs::path& path, const TextList* ids, const StopAsked& stop) {
  take_journals(path);
  View view(path, Journals::taken);
  if (ids != nullptr) view.arrange(*ids);
  Lacking lacking;
  try {
    if (!write_view(view, path, stop, lacking)) return std::nullopt;
  } catch (const SystemError& error) {
    throw not_folded(view, path, error.what());
  } catch (const Hdf5Error& error) {
    throw not_folded(view, path, error.what());
  }
  remove_journals(path, view.campaign().sessions.size());
  return view.damage_with(lacking);
}

}  // namespace wallheat::store
