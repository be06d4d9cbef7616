#include "store/results/look.hpp"

#include <fcntl.h>

#include <algorithm>

#include "store/results/log_choice.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// Answers that a damaged or older log lacks.
void adopt_answers(const fs::path& path, FileState state, const Contents& in_file, View& view) {
  std::optional<Handle> file;
  std::optional<FieldTables> fields;
  for (std::size_t i = 0; i < std::min(in_file.rows.size(), view.contents.rows.size()); ++i) {
    if (!says_more_than_log(in_file.rows[i], view.contents.rows[i])) continue;
    if (!file) {
      file = open_file(path, state == FileState::closed ? Access::read : Access::read_live);
      fields.emplace(*file);
    }
    adopt(view.contents, i, in_file.rows[i], *fields, *view.raw);
  }
}

/// A log is complete, and unlike the HDF5 file it can be read at any moment of its writer's life or
/// death.
void look_at_log(const fs::path& path, FileState state, LogChoice& choice, View& view) {
  auto& log = *choice.log;
  view.contents = std::move(log.contents);
  view.has_addresses = true;
  if (choice.in_file) {
    try {
      adopt_answers(path, state, *choice.in_file, view);
    } catch (const Hdf5Error&) {
      // The file is damaged or being changed; what the log says stands.
    }
  }
  Findings findings;
  if (log.damaged) findings.sentences.push_back(log.damage);
  findings.add_lost_with_log(std::move(log.damaged_rows), view.contents);
  view.damage = std::move(findings.sentences);
  view.damaged = std::move(findings.lost);
}

View look(const fs::path& path, Addresses addresses) {
  const auto state = peek(path);
  View view;
  Findings findings;
  if (state != FileState::missing) view.raw.emplace(path, O_RDONLY);
  auto choice = choose_log(path, state);
  if (choice.log) {
    look_at_log(path, state, choice, view);
    return view;
  }
  if (!choice.passed_over.empty() && !choice.superseded) {
    findings.sentences.push_back(choice.passed_over);
  }
  if (state == FileState::missing) throw RunError(path.string() + " does not exist");
  if (state == FileState::foreign) throw RunError(path.string() + " is not an HDF5 file");
  view.closed_well = state == FileState::closed;
  if (!view.closed_well && choice.passed_over.empty()) {
    // Closed, and its log removed, after the look at its state?
    if (peek(path) != state) throw RunError(path.string() + " changed while it was read");
    findings.sentences.emplace_back(
        "the file was left open and there is no log beside it, so the results that were stored "
        "last may be missing; if the file has another name (a hard link), the log lies there");
  }
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
