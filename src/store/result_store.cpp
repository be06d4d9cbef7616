#include "wallheat/result_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "store/contents.hpp"
#include "store/file_lock.hpp"
#include "store/hdf5_handle.hpp"
#include "store/recovery.hpp"
#include "store/session.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

bool is_about_room(const std::string& text) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    if (text.find(std::strerror(error)) != std::string::npos) return true;
  }
  return false;
}

/// Runs a step and turns what HDF5 and the file system throw into one sentence about the file.
template <class Step>
auto in_one_sentence(const fs::path& file, const std::string& advice, Step step) {
  try {
    return step();
  } catch (const Hdf5Error& error) {
    throw RunError(file.string() + ": " + error.what() + "; " +
                   (is_about_room(error.what()) ? advice_after_failed_write : advice));
  } catch (const fs::filesystem_error& error) {
    throw RunError(file.string() + " cannot be used: " + error.code().message());
  }
}

/// The file itself where the name is a link, so that replacing it leaves the link alone.
fs::path real_path(const fs::path& file) {
  auto path = fs::absolute(file);
  // Also through a link to a file that is not there yet; circular ones are the file system's to
  // refuse.
  for (int links = 0; fs::is_symlink(path) && links < 40; ++links) {
    path = path.parent_path() / fs::read_symlink(path);
  }
  path = fs::weakly_canonical(path);
  if (!fs::is_directory(path.parent_path())) {
    throw RunError(path.string() + " cannot be written: there is no directory " +
                   path.parent_path().string() + "; make it first");
  }
  if (fs::exists(path) && !fs::is_regular_file(path)) {
    throw RunError(path.string() + " is not a regular file; name another");
  }
  return path;
}

/// HDF5's text attributes end at a NUL.
Attributes storable(Attributes values) {
  for (auto& [name, value] : values) value.resize(std::min(value.size(), value.find('\0')));
  return values;
}

void remove_leftovers(const fs::path& path) {
  for (const auto& target : {path, log_path(path)}) {
    auto leftover = target;
    fs::remove(leftover += ".new");
  }
}

std::vector<PlanResult> results_of(const Contents& contents) {
  std::vector<PlanResult> results;
  results.reserve(contents.rows.size());
  for (const auto& row : contents.rows) results.push_back(to_result(row));
  return results;
}

/// What a file holds, and what has to be done before it can be used.
struct Found {
  Contents contents;
  bool needs_recovery = false;
  std::vector<std::size_t> unproven;
};

/// A file that was left open and whose log is gone, with nothing but itself to go by.
Found find_without_log(const fs::path& path, std::vector<std::string>& report) {
  report.push_back("the file was left open and has no usable log; what it holds was taken");
  open_file(path, Access::take_up).close("close the file");
  Found found{load(path, Access::read, Addresses::find, report), true, {}};
  for (std::size_t i = 0; i < found.contents.rows.size(); ++i) found.unproven.push_back(i);
  return found;
}

Found find(const fs::path& path, std::vector<std::string>& report) {
  const auto state = peek(path);
  if (fs::exists(log_path(path))) {
    auto log = read_log(path);
    if (log && !is_another_file(path, state, log->contents.file_id)) {
      if (!log->damage.empty()) report.push_back(log->damage);
      return {std::move(log->contents), true, std::move(log->stored_here)};
    }
    report.push_back(log ? "the log of an earlier file was passed over"
                         : "the log is damaged from its beginning and was passed over");
  }
  switch (state) {
    case FileState::missing:
      throw RunError(path.string() + " does not exist; leave --resume out to start it");
    case FileState::foreign:
      throw RunError(path.string() + " is not an HDF5 file; name another, or use --overwrite");
    case FileState::left_open:
      return find_without_log(path, report);
    case FileState::closed:
      break;
  }
  return {load(path, Access::read, Addresses::find, report), false, {}};
}

}  // namespace

class ResultStore::Impl {
 public:
  Impl(fs::path path, FileLock lock, Attributes session)
      : path_(std::move(path)), lock_(std::move(lock)), session_attributes_(std::move(session)) {}

  void create(const StorePlan& plan, bool overwrite) {
    if (!overwrite && (fs::exists(path_) || fs::exists(log_path(path_)))) {
      throw RunError(path_.string() +
                     (fs::exists(path_) ? " exists" : " has a log of a killed run") +
                     "; go on with it by --resume, or replace it by --overwrite");
    }
    remove_leftovers(path_);
    contents_ = contents_for(path_, plan);
    restored_ = results_of(*contents_);
    // Fields of the file that is replaced are of no interest: nothing has an address yet.
    build(path_, *contents_);
    begin();
  }

  void resume(const StorePlan& plan, std::vector<std::string>& report) {
    auto found = find(path_, report);
    require_agreement(path_, found.contents, plan);
    const bool new_layout = needs_new_layout(found.contents, plan);
    // Also where nothing has to be rearranged yet: the refusal must come before anything is
    // changed.
    if (new_layout) static_cast<void>(rearranged(path_, found.contents, plan));
    remove_leftovers(path_);
    if (found.needs_recovery) recover(path_, found.contents, found.unproven, report);
    if (new_layout) {
      found.contents = rearranged(path_, std::move(found.contents), plan);
      build(path_, found.contents);
    }
    contents_ = std::move(found.contents);
    restored_ = results_of(*contents_);
    if (found.needs_recovery) begin();
  }

  [[nodiscard]] const std::vector<PlanResult>& restored() const { return restored_; }

  void store(std::span<const PlanResult> results) {
    if (results.empty()) return;
    if (!session_) begin();
    session_->store(results);
  }

  void publish() {
    if (session_) session_->publish();
  }

  void close(const Attributes& end) {
    if (session_) session_->close(storable(end));
    session_.reset();
    release();
  }

  void release() { lock_.remove(); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  /// A closed file is touched only once there is something to write: to resume a finished run costs
  /// a reading, and leaves the file as it was.
  void begin() {
    contents_->sessions.push_back(session_attributes_);
    session_ = std::make_unique<Session>(path_, std::move(*contents_));
    contents_.reset();
  }

  fs::path path_;
  FileLock lock_;  // before session_: held until the session is over
  Attributes session_attributes_;
  std::vector<PlanResult> restored_;
  std::optional<Contents> contents_;  // until the session begins
  std::unique_ptr<Session> session_;
};

ResultStore::ResultStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
std::string hdf5_library() {
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

ResultStore ResultStore::create(const fs::path& file, const StorePlan& plan,
                                const Attributes& session, bool overwrite) {
  return in_one_sentence(file, "see that the directory can be written", [&] {
    const auto path = real_path(file);
    auto impl = std::make_unique<Impl>(path, FileLock(path), storable(session));
    StorePlan checked_plan = plan;
    checked_plan.settings = storable(plan.settings);
    try {
      impl->create(checked_plan, overwrite);
    } catch (...) {
      impl->release();
      throw;
    }
    return ResultStore(std::move(impl));
  });
}

ResultStore ResultStore::resume(const fs::path& file, const StorePlan& plan,
                                const Attributes& session, std::vector<std::string>* report) {
  return in_one_sentence(file, "bring back a copy of it, or start anew with --overwrite", [&] {
    const auto path = real_path(file);
    auto impl = std::make_unique<Impl>(path, FileLock(path), storable(session));
    StorePlan checked_plan = plan;
    checked_plan.settings = storable(plan.settings);
    std::vector<std::string> sentences;
    try {
      impl->resume(checked_plan, sentences);
    } catch (...) {
      impl->release();
      throw;
    }
    if (report != nullptr) *report = std::move(sentences);
    return ResultStore(std::move(impl));
  });
}

const std::vector<PlanResult>& ResultStore::restored() const { return impl_->restored(); }

void ResultStore::store(std::span<const PlanResult> results) {
  in_one_sentence(impl_->path(), "run again with --resume", [&] { impl_->store(results); });
}

void ResultStore::publish() {
  in_one_sentence(impl_->path(), "run again with --resume", [&] { impl_->publish(); });
}

void ResultStore::close(const Attributes& end_of_session) {
  in_one_sentence(impl_->path(), "run again with --resume", [&] { impl_->close(end_of_session); });
}

}  // namespace wallheat
