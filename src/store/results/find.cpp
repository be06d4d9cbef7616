#include "store/results/find.hpp"

#include <numeric>

#include "store/results/log_choice.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

std::vector<std::size_t> all_rows(const Contents& contents) {
  std::vector<std::size_t> rows(contents.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

Found by_log(LogReading log, Findings& findings) {
  if (!log.damage.empty()) findings.sentences.push_back(log.damage);
  Found found;
  found.needs_recovery = found.by_log = true;
  found.logged = log.stored_here.size();
  found.unproven = log.damaged ? all_rows(log.contents) : std::move(log.stored_here);
  found.doubtful = std::move(log.damaged_rows);
  found.contents = std::move(log.contents);
  return found;
}

/// A file that was left open and whose log is gone, with nothing but itself to go by.
Found find_without_log(const fs::path& path, Findings& findings) {
  findings.sentences.emplace_back(
      "the file was left open and has no usable log; what it holds was taken");
  refuse_other_versions(path);  // before anything is changed
  open_file(path, Access::take_up).close("close the file");
  Found found;
  found.contents = load(path, Access::read, Addresses::find, findings);
  found.needs_recovery = true;
  found.unproven = all_rows(found.contents);
  return found;
}

}  // namespace

Found find(const fs::path& path, Findings& findings) {
  const auto state = peek(path);
  auto choice = choose_log(path, state);
  if (choice.log) return by_log(std::move(*choice.log), findings);
  if (!choice.passed_over.empty()) findings.sentences.push_back(choice.passed_over);
  switch (state) {
    case FileState::missing:
      throw RunError(path.string() + " does not exist; leave --resume out to start it");
    case FileState::foreign:
      throw RunError(path.string() + " is not an HDF5 file; name another, or remove it first");
    case FileState::left_open:
      return find_without_log(path, findings);
    case FileState::closed:
      break;
  }
  Found found;
  found.contents = load(path, Access::read, Addresses::find, findings);
  found.superseded_log = choice.superseded;
  return found;
}

void take_up(const fs::path& path, Found& found, Findings& findings) {
  recover(path, found.contents, found.unproven, findings);
  findings.add_lost_with_log(found.doubtful, found.contents);
}

}  // namespace wallheat::store
