#include "store/write_lock.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "core/interruption.hpp"
#include "core/text.hpp"
#include "io/files.hpp"
#include "store/result_file_names.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

/// Entry of a lock file, which contains one "name value" per line.
struct Word {
  const char* name;
  std::string LockHolder::*value;
};
constexpr std::array words{Word{"host", &LockHolder::host}, Word{"pid", &LockHolder::pid},
                           Word{"job", &LockHolder::job}, Word{"since", &LockHolder::since}};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string this_job() {
  const std::string job = variable("LSB_JOBID");
  const std::string index = variable("LSB_JOBINDEX");  // jobs of an array share an ID in LSF
  if (std::string slurm = variable("SLURM_JOB_ID"); !slurm.empty()) return slurm;
  return job.empty() || index.empty() || index == "0" ? job : job + "[" + index + "]";
}

void write_holder(File& lock) {
  LockHolder self;
  self.host = this_host();
  self.pid = std::to_string(::getpid());
  self.job = this_job();
  self.since = format_utc(std::time(nullptr), "%Y-%m-%d %H:%M:%S UTC");
  std::string text;
  for (const auto& [name, value] : words)
    if (!(self.*value).empty()) text += std::string(name) + " " + self.*value + "\n";
  lock.truncate();
  lock.write_at(0, std::as_bytes(std::span(text)));
}

LockHolder read_holder(const File& lock) {
  LockHolder holder;
  std::string text(std::min<std::size_t>(lock.size(), 4096), '\0');
  if (!lock.read_at(0, std::as_writable_bytes(std::span(text)))) return holder;
  std::istringstream in(text);
  std::string name;
  std::string value;
  while (in >> name && std::getline(in >> std::ws, value))
    for (const Word& word : words)
      if (name == word.name) holder.*word.value = value;
  return holder;
}

/// Returns true if the holder is a process of this host that has ended, or is a zombie.
bool has_ended(const LockHolder& holder) {
  const auto pid = static_cast<pid_t>(std::atol(holder.pid.c_str()));
  if (pid <= 0 || holder.host != this_host()) return false;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  std::ifstream status("/proc/" + holder.pid + "/stat");
  std::string text;
  std::getline(status, text);
  const auto name_end = text.rfind(") ");  // the name may contain any character
  return name_end != std::string::npos && text[name_end + 2] == 'Z';
}

enum class Answer { taken, busy, unsupported };

/// Tries to acquire an open-file-description lock. Unlike other locks, it is not released when
/// another part of the process closes the same file.
Answer lock_in_kernel(const File& lock) {
  struct flock request {};
  request.l_type = F_WRLCK;
  const auto set = [&] { return ::fcntl(lock.fd(), F_OFD_SETLK, &request); };
  if (retry_if_interrupted(set) == 0) return Answer::taken;
  return errno == EAGAIN || errno == EACCES ? Answer::busy : Answer::unsupported;
}

/// Returns true if wallheat wrote this text, possibly with parts that a power loss replaced by
/// zeros: each line is an entry of a lock file.
bool is_lock_text(std::string text) {
  std::erase(text, '\0');
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto name = line.substr(0, line.find(' '));
    const bool is_entry = std::ranges::any_of(
        words, [&](const Word& word) { return std::string_view(word.name).starts_with(name); });
    if (!is_entry) return false;
  }
  return true;
}

using FileTime = std::chrono::nanoseconds;  // since the epoch

FileTime modification_time(const struct stat& info) {
  return std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
}

/// Returns the time of the last change of the files that a writer of `file` writes: lock, status,
/// journals, and the new file of a compaction. 0 if none of them exists.
FileTime last_activity(const fs::path& file) {
  std::vector<fs::path> files{lock_path(file), status_path(file)};
  for (const std::string& name : names_starting_with(file))
    if (may_be_journal(name, file) || is_temporary_name(name, file))
      files.push_back(file.parent_path() / name);
  FileTime newest{0};
  for (const fs::path& each : files)
    if (const auto info = stat_if_exists(each)) newest = std::max(newest, modification_time(*info));
  return newest;
}

/// Returns the time on the clock of the file system that contains `file`, which may be that of
/// another host: the modification time of a file that this function creates and removes.
FileTime file_system_time(const fs::path& file) {
  const fs::path path = new_temporary_path(file);
  const FileDescriptor probe(retry_if_interrupted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); }));
  if (probe.get() < 0) throw_system_error(path, "be created", errno);
  struct stat info {};
  const int error = ::fstat(probe.get(), &info) == 0 ? 0 : errno;
  remove_file(path);
  if (error != 0) throw_system_error(path, "be examined", error);
  return modification_time(info);
}

/// Waits until the files of a holder that the kernel cannot verify have not changed for
/// max_activity_age_s, or until its lock file is removed. Throws RunError if one of them changes,
/// or if `stop` returns true.
void wait_until_inactive(const fs::path& file, const File& lock, const LockHolder& holder,
                         const StopPredicate& stop) {
  using namespace std::chrono_literals;
  const FileTime first = last_activity(file);
  const std::chrono::duration<double> age = std::max(file_system_time(file) - first, FileTime{0});
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> wait(max_activity_age_s - age.count());
  while (std::chrono::steady_clock::now() - start < wait && lock.path_still_refers_here()) {
    if ((stop && stop()) || last_activity(file) > first) throw_already_locked(file, holder);
    std::this_thread::sleep_for(100ms);
  }
  (void)file_system_time(file);  // changes the directory, so that an NFS client reads it again
  if (lock.path_still_refers_here() && last_activity(file) > first)
    throw_already_locked(file, holder);
}

/// Opens FILE.lock, which another process created. Returns nullopt if it was removed meanwhile.
/// Throws RunError that identifies the holder if this user may not write the file.
std::optional<File> open_existing_lock(const fs::path& file) {
  const fs::path path = lock_path(file);
  try {
    return open_unless_errno(ENOENT, path, O_RDWR);
  } catch (const SystemError& error) {
    if (error.code != EACCES) throw;
    const LockHolder holder = lock_holder_of(file);
    if (holder.life == LockHolder::State::held) throw_already_locked(file, holder);
    const std::string process =
        holder.pid.empty() ? "a process" : "process " + holder.pid + " on host " + holder.host;
    throw RunError(std::string(error.what()) + "; it is held by " + process +
                   "; if that process has ended, remove the lock file");
  }
}

/// Throws RunError if the file is not a lock file, or has another hard link.
void require_own_lock_file(const File& lock) {
  constexpr std::size_t max_bytes = 4096;
  std::string text(std::min<std::size_t>(lock.size(), max_bytes), '\0');
  const bool is_lock = lock.size() <= max_bytes &&
                       lock.read_at(0, std::as_writable_bytes(std::span(text))) &&
                       is_lock_text(text);
  if (is_lock && lock.info().st_nlink <= 1) return;
  throw RunError(lock.path().string() +
                 (is_lock ? " has another hard link" : " is not a lock file of wallheat") +
                 "; move it away");
}

}  // namespace

void throw_already_locked(const fs::path& file, const LockHolder& holder) {
  std::string text = file.string() + " is being written by ";
  text += holder.pid.empty() ? "another process" : "process " + holder.pid;
  if (!holder.host.empty()) text += " on host " + holder.host;
  if (!holder.job.empty()) text += " in job " + holder.job;
  if (!holder.since.empty()) text += " since " + holder.since;
  text += "; wait for it to finish, or stop it";
  if (!holder.is_verified)
    text += "; this file system does not support locks: if that process has ended, remove " +
            lock_path(file).string();
  throw RunError(text);
}

LockHolder lock_holder_of(const fs::path& file) {
  LockHolder holder;
  try {
    const auto lock = open_unless_errno(ENOENT, lock_path(file), O_RDONLY);
    if (!lock) return holder;
    holder = read_holder(*lock);
    struct flock request {};
    request.l_type = F_WRLCK;
    const bool asked =
        retry_if_interrupted([&] { return ::fcntl(lock->fd(), F_OFD_GETLK, &request); }) == 0;
    holder.is_verified = asked;
    if (asked) {
      holder.life = request.l_type != F_UNLCK    ? LockHolder::State::held
                    : holder.host != this_host() ? LockHolder::State::unknown
                                                 : LockHolder::State::stale;
    } else {
      const std::chrono::duration<double> age =
          std::chrono::system_clock::now().time_since_epoch() - last_activity(file);
      const bool is_stale = has_ended(holder) || age.count() > max_activity_age_s;
      holder.life = is_stale ? LockHolder::State::stale : LockHolder::State::held;
    }
  } catch (const SystemError&) {
    holder.life = LockHolder::State::unknown;  // this user may not read the file
  }
  return holder;
}

WriteLock::WriteLock(const fs::path& file, const StopPredicate& stop) {
  using namespace std::chrono_literals;
  const auto path = lock_path(file);
  // A killed process holds its lock until its last thread has ended, which may wait for a disk.
  const auto deadline = std::chrono::steady_clock::now() + 15s;
  for (;;) {
    auto lock = open_unless_errno(EEXIST, path, O_CREAT | O_EXCL | O_RDWR);
    const bool is_new = lock.has_value();
    if (!is_new) lock = open_existing_lock(file);
    if (!lock) continue;  // it was removed between the two calls
    const Answer answer = lock_in_kernel(*lock);
    LockHolder holder = read_holder(*lock);
    if (answer == Answer::unsupported && !is_new) {
      holder.is_verified = false;
      if (!has_ended(holder)) wait_until_inactive(file, *lock, holder, stop);
      if (!lock->path_still_refers_here()) continue;
      require_own_lock_file(*lock);
      // Creates a new file, by which the old holder finds that it has a successor.
      remove_file(path);
      took_over_ = true;
      continue;
    }
    if (answer != Answer::busy) {
      if (!lock->path_still_refers_here())
        continue;  // its holder removed it before it was locked here
      require_own_lock_file(*lock);
      // Every user who may write the result file may take over the lock of a killed process.
      if (is_new) copy_owner_and_mode(file, *lock);
      write_holder(*lock);
      held_ = std::make_unique<File>(std::move(*lock));
      return;
    }
    const bool gives_up = std::chrono::steady_clock::now() > deadline;
    if (gives_up || !has_ended(holder) || (stop && stop())) throw_already_locked(file, holder);
    std::this_thread::sleep_for(20ms);
  }
}

void WriteLock::require_no_successor() const {
  if (!held_ || !file_exists(held_->path()) || held_->path_still_refers_here()) return;
  throw RunError(held_->path().string() +
                 " was taken over by another process, because this process did not respond for too "
                 "long; all stored results are safe, run again with --resume");
}

WriteLock::~WriteLock() {
  try {
    if (held_ && held_->path_still_refers_here()) remove_file(held_->path());
  } catch (const SystemError&) {
    // The file remains, as after a kill, and does not block the next writer.
  }
}

}  // namespace wallheat
