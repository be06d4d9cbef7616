#include "store/results/log_choice.hpp"

#include <algorithm>

#include "store/results/recovery.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// Whose the HDF5 file is, and what it holds as far as it can be read: it may be missing, damaged,
/// or change at this very moment.
struct InFile {
  std::string file_id;
  std::vector<std::string> succeeds;
  std::optional<Snapshot> snapshot;
};

InFile try_to_read(const StoreEnvironment& env, const fs::path& path, FileState state) {
  InFile found;
  if (state == FileState::missing || state == FileState::foreign) return found;
  const auto access = state == FileState::closed ? Access::read : Access::read_live;
  try {
    {
      const auto file = open_file(env, path, access);
      found.file_id = read_identity(file, path);
      found.succeeds = read_predecessors(file);
    }
    DamageReport complaints;  // whoever goes by the file finds them again
    found.snapshot = read_snapshot(env, path, access, Offsets::leave_out, complaints);
  } catch (const Hdf5Error&) {
    // What was read until here is what there is to go by.
  }
  return found;
}

/// A session is in the log before it is in the file. What a damaged log lost cannot be held against
/// it.
bool knows_sessions(const LogReading& log, const std::vector<Attributes>& in_file) {
  const auto& logged = log.snapshot.sessions;
  for (std::size_t i = 0; i < in_file.size(); ++i) {
    const bool lost = log.damaged && (i >= logged.size() || logged[i].empty());
    if (!lost && (i >= logged.size() || !includes(logged[i], in_file[i]))) return false;
  }
  return true;
}

}  // namespace

void refuse_pair(const fs::path& path, const std::string& why) {
  const auto log = log_path(path).string();
  throw RunError(path.string() + " and its log " + log + " do not belong together: " + why +
                 "; bring back the one that is missing, or move " + log + " away to go by " +
                 path.filename().string() + " alone");
}

LogChoice choose_log(const StoreEnvironment& env, const fs::path& path, FileState state) {
  LogChoice choice;
  struct stat log_info {};
  if (env.system.lstat(log_path(path).c_str(), &log_info) != 0) return choice;
  // The file first: what a living writer puts there is in the log by then.
  auto in_file = try_to_read(env, path, state);
  choice.in_file = std::move(in_file.snapshot);
  choice.log = read_log(env, path, choice.in_file ? &*choice.in_file : nullptr);
  const auto pass_over = [&](const char* why, bool superseded) {
    choice.log.reset();
    choice.passed_over = why;
    choice.superseded = superseded;
    return std::move(choice);
  };
  if (!choice.log) {
    return pass_over("the log is damaged from its beginning and was passed over", false);
  }
  const auto& log_id = choice.log->snapshot.file_id;
  const bool closed = state == FileState::closed;
  if (!in_file.file_id.empty() && in_file.file_id != log_id) {
    const auto& earlier = in_file.succeeds;
    if (closed && std::find(earlier.begin(), earlier.end(), log_id) != earlier.end()) {
      return pass_over("the log of an earlier file was passed over", true);
    }
    refuse_pair(path, strangers);
  }
  if (choice.in_file && !knows_sessions(*choice.log, choice.in_file->sessions)) {
    if (closed) return pass_over("a log that is older than the file was passed over", true);
    refuse_pair(path, "the log is older than the file and lacks what was stored since, it knows " +
                          std::to_string(choice.log->snapshot.sessions.size()) + " session(s) of " +
                          std::to_string(choice.in_file->sessions.size()));
  }
  return choice;
}

}  // namespace wallheat::store
