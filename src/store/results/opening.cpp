#include "store/results/opening.hpp"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <memory>

#include "store/results/write_ahead_log.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

// Whether to go by the log.

Access access_to(Hdf5State state) {
  return state == Hdf5State::closed ? Access::read : Access::read_live;
}

/// Whose the HDF5 file is, and what it holds as far as it can be read: it may be missing, damaged,
/// or change at this very moment.
struct InFile {
  std::string file_id;
  std::vector<std::string> succeeds;
  std::optional<Snapshot> snapshot;
};

/// Throws RunError if the file is none of ours or of another format version.
InFile try_to_read(const StoreEnvironment& env, const fs::path& path, Hdf5State state) {
  InFile found;
  if (state == Hdf5State::missing || state == Hdf5State::foreign) return found;
  try {
    {
      const auto file = open_file(env, path, access_to(state));
      found.file_id = read_identity(file, path);
      found.succeeds = read_predecessors(file);
    }
    DamageReport complaints;  // whoever goes by the file finds them again
    found.snapshot = read_snapshot(env, path, access_to(state), Offsets::leave_out, complaints);
  } catch (const Hdf5Error&) {
    // What was read until here is what there is to go by.
  }
  return found;
}

/// Whether to go by a file's log.
struct LogChoice {
  std::optional<LogReading> log;  ///< nothing: the file alone says what there is
  std::string passed_over;        ///< why there is a log that is not gone by; else empty
  bool superseded = false;        ///< that log holds nothing that the file has not
};

/// True of a row that the log should have: an answer where it has none, anything where it has
/// nothing.
bool says_more_than_log(const Row& in_file, const Row& logged) {
  return status_of(logged) == PlanStatus::pending
             ? status_of(in_file) != PlanStatus::pending
             : is_answer(status_of(in_file)) && !is_answer(status_of(logged));
}

/// Takes over what only the HDF5 file has, sessions and rows. It gets there only after the log, so
/// it was lost with a damaged part of the log, and holds if its checksums do.
void complete(const StoreEnvironment& env, const fs::path& path, Hdf5State state,
              const Snapshot& in_file, Snapshot& logged) {
  auto& sessions = logged.sessions;
  sessions.resize(std::max(sessions.size(), in_file.sessions.size()));
  for (std::size_t i = 0; i < in_file.sessions.size(); ++i)
    if (sessions[i].empty()) sessions[i] = in_file.sessions[i];
  if (in_file.rows.size() != logged.rows.size()) return;
  std::optional<Handle> file;
  std::optional<FieldTables> fields;
  std::vector<std::byte> chunk;
  const PosixFile raw(env.system, path, O_RDONLY);
  std::shared_ptr<const RoomsAt> rooms;
  auto taken_rooms = std::make_shared<std::map<std::size_t, std::vector<RoomResult>>>();
  const auto open = [&]() -> const Handle& {
    return file ? *file : file.emplace(open_file(env, path, access_to(state)));
  };
  for (const Row& row : in_file.rows) {
    const Row known = logged.rows[row.index];
    if (!says_more_than_log(row, known) || row.id != known.id) continue;
    if (has_field(row)) {
      if (!logged.capacities.contains(shape_of(row))) continue;
      if (!fields) fields.emplace(open());
      const auto extent = fields->find(shape_of(row), row.field_slot);
      if (!extent || !read_chunk(raw, extent->offset, row, chunk)) continue;
      logged.offsets[row.index] = extent->offset;
    }
    if (keeps_rooms(logged.settings) && has_rooms(row)) {
      if (!rooms) rooms = find_rooms_in(env, open(), path, in_file.rows);
      if (rooms->count(row.index) == 0) continue;
      (*taken_rooms)[row.index] = rooms->read(row.index);
    }
    logged.rows.set(row.index, row);
  }
  if (taken_rooms->empty()) return;
  logged.rooms_of = [taken_rooms, in_log = logged.rooms_of](std::size_t i) {
    const auto taken = taken_rooms->find(i);
    return taken != taken_rooms->end() ? taken->second : in_log(i);
  };
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

/// A log and a file belong together if they name the same file id, and the log knows all of the
/// file's sessions. A closed file may have come into its log's place since, or have outlived it:
/// then that log is passed over. Throws RunError that names both where they are strangers, or the
/// log of a file that was left open is an older one.
LogChoice choose_log(const StoreEnvironment& env, const fs::path& path, Hdf5State state) {
  LogChoice choice;
  struct stat log_info {};
  if (env.system.lstat(log_path(path).c_str(), &log_info) != 0) return choice;
  // The file first: what a living writer puts there is in the log by then.
  const auto in_file = try_to_read(env, path, state);
  choice.log = read_log(env, path, in_file.snapshot ? &*in_file.snapshot : nullptr);
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
  const bool closed = state == Hdf5State::closed;
  if (!in_file.file_id.empty() && in_file.file_id != log_id) {
    const auto& earlier = in_file.succeeds;
    if (closed && std::find(earlier.begin(), earlier.end(), log_id) != earlier.end()) {
      return pass_over("the log of an earlier file was passed over", true);
    }
    refuse_pair(path, strangers);
  }
  if (!in_file.snapshot) return choice;
  const auto& sessions = in_file.snapshot->sessions;
  if (!knows_sessions(*choice.log, sessions)) {
    if (closed) return pass_over("a log that is older than the file was passed over", true);
    refuse_pair(path, "the log is older than the file and lacks what was stored since, it knows " +
                          std::to_string(choice.log->snapshot.sessions.size()) + " session(s) of " +
                          std::to_string(sessions.size()));
  }
  try {
    complete(env, path, state, *in_file.snapshot, choice.log->snapshot);
  } catch (const Hdf5Error&) {
    // The file is damaged or being changed; what the log says stands.
  }
  return choice;
}

// What readers see.

ReadView try_to_open(const StoreEnvironment& env, const fs::path& path, Offsets offsets) {
  const auto state = peek(env, path);
  ReadView view;
  if (state != Hdf5State::missing) view.raw.emplace(env.system, path, O_RDONLY);
  auto choice = choose_log(env, path, state);
  if (choice.log) {
    // Complete, and unlike the HDF5 file it can be read at any moment of its writer's life or
    // death.
    view.snapshot = std::move(choice.log->snapshot);
    view.has_offsets = true;
    if (choice.log->damaged) view.damage.sentences.push_back(choice.log->damage);
    view.damage.add_lost_with_log(std::move(choice.log->damaged_rows), view.snapshot);
    return view;
  }
  if (!choice.passed_over.empty() && !choice.superseded) {
    view.damage.sentences.push_back(choice.passed_over);
  }
  if (state == Hdf5State::missing) throw RunError(path.string() + " does not exist");
  if (state == Hdf5State::foreign) throw RunError(path.string() + " is not an HDF5 file");
  view.closed_well = state == Hdf5State::closed;
  if (!view.closed_well && choice.passed_over.empty()) {
    // Closed, and its log removed, after the look at its state?
    if (peek(env, path) != state) throw RunError(path.string() + " changed while it was read");
    view.damage.sentences.emplace_back(
        "the file was left open and there is no log beside it, so the results that were stored "
        "last may be missing; if the file has another name (a hard link), the log lies there");
  }
  view.has_offsets = offsets == Offsets::find;
  try {
    view.snapshot = read_snapshot(env, path, access_to(state), offsets, view.damage);
    std::sort(view.damage.lost.begin(), view.damage.lost.end());
  } catch (const Hdf5Error& error) {
    throw RunError(path.string() +
                   (view.closed_well ? " is damaged, " : " was left open by a killed run, ") +
                   error.what() + "; 'wallheat repair' may mend it");
  }
  return view;
}

// What the next writer goes by.

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
  (void)try_to_read(env, path, Hdf5State::left_open);  // refuses, before anything is changed
  open_file(env, path, Access::take_up).close("close the file");
  OpenedFile found;
  found.snapshot = read_snapshot(env, path, Access::read, Offsets::find, damage);
  found.needs_recovery = true;
  found.unproven = all_rows(found.snapshot);
  return found;
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
    case Hdf5State::missing:
      throw RunError(path.string() + " does not exist; leave --resume out to start it");
    case Hdf5State::foreign:
      throw RunError(path.string() + " is not an HDF5 file; name another, or remove it first");
    case Hdf5State::left_open:
      return open_without_log(env, path, damage);
    case Hdf5State::closed:
      break;
  }
  OpenedFile found;
  found.snapshot = read_snapshot(env, path, Access::read, Offsets::find, damage);
  found.superseded_log = choice.superseded;
  return found;
}

}  // namespace wallheat::store
