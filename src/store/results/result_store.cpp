#include "store/results/result_store.hpp"

#include "io/file_lock.hpp"
#include "store/results/boundary.hpp"
#include "store/results/open_for_reading.hpp"
#include "store/results/open_for_writing.hpp"
#include "store/results/own_file.hpp"
#include "store/results/session.hpp"
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

}  // namespace

class ResultStore::Impl {
 public:
  Impl(ResultClaim claim, Attributes session)
      : env_(claim.env_),
        path_(claim.path_),
        lock_(std::move(claim.lock_)),
        session_attributes_(std::move(session)) {}

  void create(const StorePlan& plan) {
    remove_leftovers(env_, path_);
    snapshot_ = snapshot_for(path_, plan);
    // Fields of the file that is replaced are of no interest: nothing has an offset yet.
    build(env_, path_, *snapshot_);
    keeps_restored_ = false;
    begin();
    created_ = true;
  }

  void resume(const StorePlan& plan, DamageReport& damage) {
    require_one_name(env_, path_);
    // What cannot be read is damaged; nothing else is a reason to give up what the file holds.
    auto found = in_one_sentence(
        path_, {to_resume.for_room, "bring back a copy of it, or start anew with --overwrite"},
        [&] { return open_for_writing(env_, path_, damage); });
    require_use_for(path_, found.snapshot, plan);
    const bool new_layout = needs_new_layout(found.snapshot, plan);
    remove_leftovers(env_, path_);
    if (found.superseded_log) remove_durably(env_.system, log_path(path_));
    if (found.needs_recovery) take_up(env_, path_, found, damage);
    if (new_layout) {
      found.snapshot = rearranged(path_, std::move(found.snapshot), plan);
      build(env_, path_, found.snapshot);
    }
    snapshot_ = std::move(found.snapshot);
    if (found.needs_recovery) begin();
  }

  void for_each_restored(const std::function<void(const PlanResult&)>& take) const {
    if (created_) {
      const TextList& ids = session_->ids();
      for (std::size_t i = 0; i < ids.size(); ++i) take(to_result(pending_row(i, ids[i])));
      return;
    }
    for (const Row& row : snapshot_ ? snapshot_->rows : restored_) take(to_result(row));
  }
  void forget_restored() {
    restored_ = {};
    keeps_restored_ = created_ = false;
  }

  std::vector<PlanResult> store(std::span<const PlanResult> results) {
    if (results.empty()) return {};
    if (!session_) begin();
    return session_->store(results);
  }

  void restamp(std::span<const PlanResult> results) {
    if (results.empty()) return;
    if (!session_) begin();
    session_->restamp(results);
  }

  void publish() {
    if (session_) session_->publish();
  }

  void close(const Attributes& end) {
    if (session_) session_->close(storable(end));
    session_.reset();
    release();
  }

  void release() { lock_->remove(); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  /// A closed file is touched only once there is something to write: to resume a finished run costs
  /// a reading, and leaves the file as it was.
  void begin() {
    if (keeps_restored_) snapshot_->rows.leave_source();
    snapshot_->sessions.push_back(session_attributes_);
    session_ = std::make_unique<Session>(env_, path_, *snapshot_);
    if (keeps_restored_) restored_ = std::move(snapshot_->rows);
    snapshot_.reset();
  }

  StoreEnvironment env_;
  fs::path path_;
  std::unique_ptr<FileLock> lock_;  // before session_: held until the session is over
  Attributes session_attributes_;
  bool created_ = false;  // by this session: all rows that are restored are pending
  RowList restored_;      // else, once the session has begun
  bool keeps_restored_ = true;
  std::optional<Snapshot> snapshot_;  // until the session begins
  std::unique_ptr<Session> session_;
};

ResultStore::ResultStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
std::string hdf5_library() {
  prepare_hdf5();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  checked(H5get_libversion(&major, &minor, &release), "ask HDF5 for its version");
  return "HDF5 " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(release);
}

ResultStore::ResultStore(ResultStore&&) noexcept = default;
ResultStore& ResultStore::operator=(ResultStore&&) noexcept = default;
ResultStore::~ResultStore() = default;

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
  return in_one_sentence(fs::path(claim.file_), to_create, [&] {
    auto impl = std::make_unique<Impl>(std::move(claim), storable(session));
    plan.settings = storable(std::move(plan.settings));
    try {
      impl->create(plan);
    } catch (...) {
      impl->release();
      throw;
    }
    return ResultStore(std::move(impl));
  });
}

ResultStore ResultStore::resume(const fs::path& file, StorePlan plan, const Attributes& session,
                                std::vector<std::string>* report, const StoreEnvironment& env) {
  return resume(ResultClaim(file, Opening::resume, env), std::move(plan), session, report);
}

ResultStore ResultStore::resume(ResultClaim claim, StorePlan plan, const Attributes& session,
                                std::vector<std::string>* report) {
  return in_one_sentence(fs::path(claim.file_), to_resume, [&] {
    auto impl = std::make_unique<Impl>(std::move(claim), storable(session));
    plan.settings = storable(std::move(plan.settings));
    DamageReport damage;
    try {
      impl->resume(plan, damage);
    } catch (...) {
      impl->release();
      throw;
    }
    if (report != nullptr) *report = std::move(damage.sentences);
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
      return std::move(view.damage);
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
void ResultStore::forget_restored() { impl_->forget_restored(); }

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
