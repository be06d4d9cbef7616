#include "store/look.hpp"

#include <fcntl.h>

#include <algorithm>

#include "store/write_ahead_log.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// Where there is a log, it alone says what was stored: it is complete, and unlike the HDF5 file it
/// can be read at any moment of its writer's life or death.
View look(const fs::path& path, Addresses addresses) {
  const auto state = peek(path);
  View view;
  Findings findings;
  if (state != FileState::missing) view.raw.emplace(path, O_RDONLY);
  if (fs::exists(log_path(path))) {
    auto log = read_log(path);
    if (log && !is_another_file(path, state, log->contents.file_id)) {
      view.contents = std::move(log->contents);
      if (log->damaged) view.damage.push_back(log->damage);
      view.has_addresses = true;
      return view;
    }
    if (!log) {
      findings.sentences.emplace_back("the log is damaged from its beginning and was passed over");
    }
  }
  if (state == FileState::missing) throw RunError(path.string() + " does not exist");
  if (state == FileState::foreign) throw RunError(path.string() + " is not an HDF5 file");
  view.closed_well = state == FileState::closed;
  view.has_addresses = addresses == Addresses::find;
  try {
    view.contents =
        load(path, view.closed_well ? Access::read : Access::read_live, addresses, findings);
    view.damage = std::move(findings.sentences);
    view.damaged = std::move(findings.lost);
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
View look_at(const fs::path& path, Addresses addresses) {
  constexpr int tries = 5;
  for (int attempt = 1;; ++attempt) {
    try {
      return look(path, addresses);
    } catch (const RunError&) {
      if (attempt == tries) throw;
    } catch (const fs::filesystem_error& error) {
      throw RunError(path.string() + " cannot be read: " + error.code().message());
    }
  }
}

}  // namespace wallheat::store
