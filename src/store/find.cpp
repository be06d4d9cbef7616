#include "store/find.hpp"

#include <numeric>

#include "store/write_ahead_log.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// A file that was left open and whose log is gone, with nothing but itself to go by.
Found find_without_log(const fs::path& path, Findings& findings) {
  findings.sentences.emplace_back(
      "the file was left open and has no usable log; what it holds was taken");
  refuse_other_versions(path);  // before anything is changed
  open_file(path, Access::take_up).close("close the file");
  Found found{load(path, Access::read, Addresses::find, findings), true, false, {}};
  found.unproven.resize(found.contents.rows.size());
  std::iota(found.unproven.begin(), found.unproven.end(), std::size_t{0});
  return found;
}

}  // namespace

Found find(const fs::path& path, Findings& findings) {
  const auto state = peek(path);
  if (fs::exists(log_path(path))) {
    auto log = read_log(path);
    if (log && !is_another_file(path, state, log->contents.file_id)) {
      if (!log->damage.empty()) findings.sentences.push_back(log->damage);
      return {std::move(log->contents), true, true, std::move(log->stored_here)};
    }
    findings.sentences.emplace_back(
        log ? "the log of an earlier file was passed over"
            : "the log is damaged from its beginning and was passed over");
  }
  switch (state) {
    case FileState::missing:
      throw RunError(path.string() + " does not exist; leave --resume out to start it");
    case FileState::foreign:
      throw RunError(path.string() + " is not an HDF5 file; name another, or use --overwrite");
    case FileState::left_open:
      return find_without_log(path, findings);
    case FileState::closed:
      break;
  }
  return {load(path, Access::read, Addresses::find, findings), false, false, {}};
}

}  // namespace wallheat::store
