#include "store/results/result_store.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <unordered_set>

#include "io/checksum.hpp"
#include "io/file_lock.hpp"
#include "store/results/boundary.hpp"
#include "store/field_codec.hpp"
#include "store/results/opening.hpp"
#include "store/results/write_ahead_log.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

const Advice to_resume{"make room and run again with --resume", "run again with --resume"};
const Advice to_create{to_resume.for_room, "see that the directory can be written"};

/// Throws RunError where a new file may not take this name.
void require_free(const StoreEnvironment& env, const fs::path& path, bool overwrite) {
  if (!overwrite && (exists(env.system, path) || exists(env.system, log_path(path)))) {
    throw RunError(path.string() +
                   (exists(env.system, path) ? " exists" : " has a log of a killed run") +
                   "; go on with it by --resume, or replace it by --overwrite");
  }
  require_own(env, path, OwnKind::results);
}

/// Throws RunError where a file was made for something else than `plan`; the refusal must come
/// before anything is changed.
void require_use_for(const fs::path& path, const Snapshot& snapshot, const StorePlan& plan) {
  require_agreement(path, snapshot, plan);
  if (needs_new_layout(snapshot, plan)) static_cast<void>(rearranged(path, snapshot, plan));
}

/// Which slot each row's field has or had, and which are free.
class FieldSlots {
 public:
  FieldSlots() = default;
  explicit FieldSlots(const Snapshot& snapshot);

  /// The slot for row i's field of this shape: the one it had, or the lowest that is free. Nothing
  /// where the file was made without room for such a field.
  [[nodiscard]] std::optional<std::int64_t> assign(std::size_t i, GridShape shape);

 private:
  struct Pool {
    std::uint64_t capacity = 0;
    std::unordered_set<std::int64_t> used;
    std::int64_t first_maybe_free = 0;
  };
  struct Slot {
    GridShape shape;
    std::int64_t number = -1;
  };
  std::map<GridShape, Pool> pools_;
  std::vector<Slot> slots_;  // of row i; empty without fields
};

FieldSlots::FieldSlots(const Snapshot& snapshot) {
  if (!snapshot.save_fields) return;
  for (const auto& [shape, capacity] : snapshot.capacities) pools_[shape].capacity = capacity;
  slots_.resize(snapshot.rows.size());
  for (const Row& row : snapshot.rows) {
    if (!has_field(row)) continue;
    slots_[row.index] = {shape_of(row), row.field_slot};
    pools_[shape_of(row)].used.insert(row.field_slot);
  }
}

std::optional<std::int64_t> FieldSlots::assign(std::size_t i, GridShape shape) {
  auto& slot = slots_.at(i);
  if (slot.number >= 0 && slot.shape == shape) return slot.number;
  const auto found = pools_.find(shape);
  if (found == pools_.end()) return std::nullopt;
  auto& pool = found->second;
  auto& next = pool.first_maybe_free;
  while (pool.used.contains(next)) ++next;
  if (static_cast<std::uint64_t>(next) >= pool.capacity) return std::nullopt;
  pool.used.insert(next);
  slot = {shape, next};
  return slot.number;
}

}  // namespace

/// A file that is written: the log and the open HDF5 file, in step. A closed file is touched only
/// once there is something to write: to resume a finished run costs a reading, and leaves the file
/// as it was.
class ResultStore::Impl {
 public:
  Impl(ResultClaim claim, Attributes session)
      : env_(claim.env_),
        path_(claim.path_),
        lock_(std::move(claim.lock_)),
        session_(std::move(session)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  void create(const StorePlan& plan);
  void resume(const StorePlan& plan, DamageReport& damage);
  void for_each_restored(const std::function<void(const PlanResult&)>& take) const {
    for (const Row& row : restored_.rows) take(to_result(row));
  }
  std::vector<PlanResult> store(std::span<const PlanResult> results);
  void restamp(std::span<const PlanResult> results);
  void publish();
  void close(const Attributes& end);
  void release() { lock_->remove(); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  void begin();
  void begin_unless_begun();
  void require_usable() const;
  /// False if the field has no place; the row is a failed one then.
  bool write_field(const PlanResult& result, LoggedRow& logged);
  void write_batch();
  void write_rooms_of_log();

  StoreEnvironment env_;
  fs::path path_;
  std::unique_ptr<FileLock> lock_;  // before all that writes: held until that is over
  Attributes session_;              // what the next session is to say
  Snapshot restored_;               // until something is stored

  // From the beginning of the session on.
  bool save_fields_ = false;
  TextList ids_;
  std::vector<Attributes> sessions_;
  FieldSlots slots_;
  std::optional<LogWriter> log_;
  Handle file_;
  std::optional<RowTable> rows_;
  std::optional<RowsInFile> in_file_;
  std::optional<FieldTables> fields_;
  std::vector<LoggedRow> batch_;
  std::vector<RoomResult> rooms_of_batch_;
  bool keeps_rooms_ = false;
  std::vector<std::byte> padded_;
  bool unpublished_ = false;
  std::chrono::steady_clock::time_point published_;
  bool given_up_ = false;  // while HDF5 writes, and after a failed write
};

void ResultStore::Impl::create(const StorePlan& plan) {
  remove_leftovers(env_, path_);
  restored_ = snapshot_for(path_, plan);
  // Fields of the file that is replaced are of no interest: nothing has an offset yet.
  build(env_, path_, restored_);
  begin();
}

void ResultStore::Impl::resume(const StorePlan& plan, DamageReport& damage) {
  require_one_name(env_, path_);
  // What cannot be read is damaged; nothing else is a reason to give up what the file holds.
  auto found = in_one_sentence(
      path_, {to_resume.for_room, "bring back a copy of it, or start anew with --overwrite"},
      [&] { return open_for_writing(env_, path_, damage); });
  require_use_for(path_, found.snapshot, plan);
  const bool new_layout = needs_new_layout(found.snapshot, plan);
  remove_leftovers(env_, path_);
  if (found.superseded_log) remove_durably(env_.system, log_path(path_));
  if (found.needs_recovery) recover(env_, path_, found, damage);
  if (new_layout) {
    found.snapshot = rearranged(path_, std::move(found.snapshot), plan);
    build(env_, path_, found.snapshot);
  }
  restored_ = std::move(found.snapshot);
  if (found.needs_recovery) begin();
}

void ResultStore::Impl::begin() {
  given_up_ = true;
  restored_.sessions.push_back(session_);
  save_fields_ = restored_.save_fields;
  keeps_rooms_ = keeps_rooms(restored_.settings);
  ids_ = restored_.ids;
  sessions_ = restored_.sessions;
  slots_ = FieldSlots(restored_);
  // The log first: from here on a kill at any moment leaves enough to build the file from.
  log_.emplace(env_, path_, restored_);
  bring_up_to_date(env_, path_, Access::write, restored_, {});
  file_ = open_file(env_, path_, Access::write_live);
  rows_.emplace(file_);
  in_file_.emplace(env_.system, path_, rows_->offset(), rows_->count());
  fields_.emplace(file_);
  given_up_ = false;
}

/// Rows that are stored change what the file said, so nothing is restored from here on.
void ResultStore::Impl::begin_unless_begun() {
  require_usable();
  if (!log_) begin();
  restored_ = {};
}

void ResultStore::Impl::require_usable() const {
  if (given_up_) throw RunError(path_.string() + " was given up after a failed write");
}

ResultStore::Impl::~Impl() {
  if (!given_up_) return;
  // HDF5 may crash when it closes a file that it could not write: leave it, as a kill would.
  if (rows_) rows_->leak();
  if (fields_) fields_->leak();
  file_.leak();
}

bool ResultStore::Impl::write_field(const PlanResult& result, LoggedRow& logged) {
  auto& row = logged.row;
  const GridShape shape{result.rows, result.cols};
  const auto slot = slots_.assign(result.index, shape);
  if (!slot) {
    row.status = static_cast<std::int32_t>(PlanStatus::failed);
    const auto too_large = too_large_to_keep(shape);
    put_text(row.error, !too_large.empty()
                            ? too_large
                            : "the plan's shape " + std::to_string(shape.rows) + " x " +
                                  std::to_string(shape.cols) +
                                  " was not foreseen when the file was opened, so its field has "
                                  "no place; resume to solve it again");
    return false;
  }
  // HDF5 overwrites a chunk in place only if the new one has the same size, and the old field must
  // survive until the log holds the new row. A byte behind the deflate stream changes the size, and
  // no reader looks at it.
  std::span<const std::byte> chunk = result.field;
  const auto old = fields_->find(shape, *slot);
  if (old && old->bytes == static_cast<std::int64_t>(chunk.size())) {
    padded_.assign(chunk.begin(), chunk.end());
    padded_.push_back(std::byte{0});
    chunk = padded_;
  }
  logged.offset = fields_->write(shape, *slot, chunk).offset;
  row.field_slot = *slot;
  row.field_bytes = static_cast<std::int64_t>(chunk.size());
  row.field_crc32 = crc32_of(chunk);
  return true;
}

std::vector<PlanResult> ResultStore::Impl::store(std::span<const PlanResult> results) {
  if (results.empty()) return {};
  std::vector<PlanResult> refused;
  begin_unless_begun();
  for (const auto& result : results) {
    if (result.index >= ids_.size() || ids_[result.index] != result.id) {
      throw RunError(path_.string() + " has no row " + std::to_string(result.index) +
                     " for a plan called \"" + result.id + "\"");
    }
  }
  given_up_ = true;  // an exception on the way leaves it so, until the batch is written
  batch_.clear();
  bool wrote_field = false;
  for (const auto& result : results) {
    auto& logged = batch_.emplace_back(LoggedRow{-1, to_row(result)});
    logged.row.session = static_cast<std::uint32_t>(sessions_.size() - 1);
    if (save_fields_ && !result.field.empty()) {
      if (write_field(result, logged)) {
        wrote_field = true;
      } else {
        refused.push_back(to_result(logged.row));
      }
    }
    seal(logged.row);
    if (keeps_rooms_ && has_rooms(logged.row)) {
      const auto rooms = sealed_rooms(result.rooms, result.index);
      rooms_of_batch_.insert(rooms_of_batch_.end(), rooms.begin(), rooms.end());
    }
  }
  if (wrote_field && env_.system.fdatasync(descriptor_of(file_)) != 0) {
    throw_system_error(path_, "be made durable", errno);
  }
  write_batch();
  return refused;
}

void ResultStore::Impl::restamp(std::span<const PlanResult> results) {
  if (results.empty()) return;
  begin_unless_begun();
  constexpr std::size_t batch_size = 1024;
  for (std::size_t first = 0; first < results.size(); first += batch_size) {
    given_up_ = true;
    batch_.clear();
    for (const auto& result :
         results.subspan(first, std::min(batch_size, results.size() - first))) {
      Row row{};
      if (result.index < in_file_->count())
        in_file_->read_unchecked(result.index, std::span(&row, 1));
      if (!is_intact(row) || id_of(row) != result.id) {
        throw RunError(path_.string() + " has no row for the plan \"" + result.id + "\"");
      }
      std::optional<FieldTables::Extent> extent;
      if (has_field(row)) extent = fields_->find(shape_of(row), row.field_slot);
      PlanResult stamped = to_result(row);
      stamped.input_stamp = result.input_stamp;
      put_columns(row, stamped);
      seal(row);
      batch_.push_back({extent ? extent->offset : -1, row});
    }
    write_batch();
  }
}

void ResultStore::Impl::write_batch() {
  log_->append(batch_, rooms_of_batch_);
  rooms_of_batch_.clear();
  // Neighbours go in one call: HDF5 compares all columns of two row types in every one, which costs
  // far more than writing the row.
  std::stable_sort(batch_.begin(), batch_.end(), [](const LoggedRow& a, const LoggedRow& b) {
    return a.row.index < b.row.index;
  });
  std::vector<Row> run;
  for (const auto& logged : batch_) {
    if (!run.empty() && logged.row.index != run.back().index + 1) {
      rows_->write(run.front().index, run);
      run.clear();
    }
    run.push_back(logged.row);
  }
  rows_->write(run.front().index, run);
  unpublished_ = true;
  given_up_ = false;
}

/// Until the end of a session its rooms are in the log only: what is made while readers follow
/// would break the file, and their number is not known before.
void ResultStore::Impl::write_rooms_of_log() {
  const auto log = read_log(env_, path_);
  if (!log || log->damaged) throw Hdf5Error("cannot read the rooms in its log");
  write_rooms(file_, log->snapshot.rows, log->snapshot.rooms_of);
}

void ResultStore::Impl::publish() {
  const auto now = env_.system.uptime();
  if (given_up_ || !unpublished_ || now - published_ < std::chrono::seconds(1)) return;
  given_up_ = true;
  checked(H5Fflush(file_.get(), H5F_SCOPE_LOCAL), "show the rows to readers");
  given_up_ = false;
  unpublished_ = false;
  published_ = now;
}

void ResultStore::Impl::close(const Attributes& end) {
  if (!log_) return lock_->remove();
  require_usable();
  given_up_ = true;
  auto& session = sessions_.back();
  for (const auto& [name, value] : storable(end)) session[name] = value;
  // Into the log first, so that a kill between the next steps keeps the end of the session too.
  log_->append_session(sessions_.size() - 1, session);
  checked(H5Fflush(file_.get(), H5F_SCOPE_LOCAL), "write the rows");
  rows_.reset();
  fields_.reset();
  file_.close("close the file");
  file_ = open_file(env_, path_, Access::write);
  write_sessions(file_, sessions_);
  if (keeps_rooms_) write_rooms_of_log();
  file_.close("close the file");
  sync_file(env_.system, path_);
  // Only now does the HDF5 file alone hold everything.
  log_.reset();
  remove_durably(env_.system, log_path(path_));
  lock_->remove();
}

ResultStore::ResultStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ResultStore::ResultStore(ResultStore&&) noexcept = default;
ResultStore& ResultStore::operator=(ResultStore&&) noexcept = default;
ResultStore::~ResultStore() = default;

std::string hdf5_library() {
  prepare_hdf5();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  checked(H5get_libversion(&major, &minor, &release), "ask HDF5 for its version");
  return "HDF5 " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(release);
}

void leave_hdf5_files_at_exit() { static_cast<void>(H5dont_atexit()); }

ResultClaim::ResultClaim(const fs::path& file, Opening opening, const StoreEnvironment& env)
    : env_(env), file_(file) {
  in_one_sentence(file, opening == Opening::resume ? to_resume : to_create, [&] {
    path_ = real_path(env, file);
    lock_ = std::make_unique<FileLock>(env.system, path_);
    try {
      if (opening != Opening::resume) require_free(env, path_, opening == Opening::overwrite);
    } catch (...) {
      lock_->remove();
      throw;
    }
  });
}
ResultClaim::ResultClaim(ResultClaim&& other) noexcept = default;
ResultClaim::~ResultClaim() {
  if (lock_) lock_->remove();
}

ResultStore ResultStore::create(const fs::path& file, StorePlan plan, const Attributes& session,
                                bool overwrite, const StoreEnvironment& env) {
  return create(ResultClaim(file, overwrite ? Opening::overwrite : Opening::create, env),
                std::move(plan), session);
}

ResultStore ResultStore::create(ResultClaim claim, StorePlan plan, const Attributes& session) {
  return open(std::move(claim), to_create, std::move(plan), session,
              [](Impl& impl, const StorePlan& what) { impl.create(what); });
}

ResultStore ResultStore::resume(const fs::path& file, StorePlan plan, const Attributes& session,
                                std::vector<std::string>* report, const StoreEnvironment& env) {
  return resume(ResultClaim(file, Opening::resume, env), std::move(plan), session, report);
}

ResultStore ResultStore::resume(ResultClaim claim, StorePlan plan, const Attributes& session,
                                std::vector<std::string>* report) {
  DamageReport damage;
  auto store = open(std::move(claim), to_resume, std::move(plan), session,
                    [&](Impl& impl, const StorePlan& what) { impl.resume(what, damage); });
  if (report != nullptr) *report = std::move(damage.sentences);
  return store;
}

template <class Step>
ResultStore ResultStore::open(ResultClaim claim, const Advice& advice, StorePlan plan,
                              const Attributes& session, Step step) {
  return in_one_sentence(fs::path(claim.file_), advice, [&] {
    auto impl = std::make_unique<Impl>(std::move(claim), storable(session));
    plan.settings = storable(std::move(plan.settings));
    try {
      step(*impl, plan);
    } catch (...) {
      impl->release();
      throw;
    }
    return ResultStore(std::move(impl));
  });
}

std::vector<std::string> ResultStore::look(const fs::path& file, StorePlan plan, Opening opening,
                                           const std::function<void(const PlanResult&)>& take,
                                           const StoreEnvironment& env) {
  return in_one_sentence(file, to_resume, [&] {
    const auto path = real_path(env, file);
    return with_file_lock(env.system, path, [&] {
      plan.settings = storable(std::move(plan.settings));
      ReadView view;
      if (opening == Opening::resume) {
        require_one_name(env, path);
        view = open_for_reading(env, path, Offsets::leave_out);
        view.snapshot.offsets.resize(view.snapshot.rows.size(), -1);
        require_use_for(path, view.snapshot, plan);
      } else {
        require_free(env, path, opening == Opening::overwrite);
        view.snapshot = snapshot_for(path, plan);
      }
      for (const Row& row : view.snapshot.rows) take(to_result(row));
      return std::move(view.damage.sentences);
    });
  });
}

void ResultStore::for_each_restored(const std::function<void(const PlanResult&)>& take) const {
  impl_->for_each_restored(take);
}
std::vector<PlanResult> ResultStore::restored() const {
  std::vector<PlanResult> results;
  for_each_restored([&](const PlanResult& result) { results.push_back(result); });
  return results;
}

std::vector<PlanResult> ResultStore::store(std::span<const PlanResult> results) {
  return in_one_sentence(impl_->path(), to_resume, [&] { return impl_->store(results); });
}

void ResultStore::restamp(std::span<const PlanResult> results) {
  in_one_sentence(impl_->path(), to_resume, [&] { impl_->restamp(results); });
}

void ResultStore::publish() {
  in_one_sentence(impl_->path(), to_resume, [&] { impl_->publish(); });
}

void ResultStore::close(const Attributes& end_of_session) {
  in_one_sentence(impl_->path(), to_resume, [&] { impl_->close(end_of_session); });
}

}  // namespace wallheat
