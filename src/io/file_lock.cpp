#include "io/file_lock.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/utc_text.hpp"
#include "io/file_names.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr const char* pid_namespace = "pid_namespace";

std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string now_utc() { return utc_text(std::time(nullptr), "%Y-%m-%d %H:%M:%S UTC"); }

/// Where a pid means this process: containers count their own, often on hosts of equal names.
std::string this_pid_namespace() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
}

/// The lock file's text: one "name value" a line.
std::string describe_this_process() {
  std::string text =
      "host " + this_host() + "\npid " + std::to_string(::getpid()) + "\nsince " + now_utc() + "\n";
  if (const auto space = this_pid_namespace(); !space.empty()) {
    text += std::string(pid_namespace) + " " + space + "\n";
  }
  for (const char* variable : {"SLURM_JOB_ID", "LSB_JOBID"}) {
    if (const char* job = std::getenv(variable)) return text + "job " + job + "\n";
  }
  return text;
}

std::string sentence(const std::filesystem::path& file, LockHolder holder,
                     const std::string& advice) {
  std::string text = file.string() + " is being written by ";
  text += holder["pid"].empty() ? "another process" : "process " + holder["pid"];
  if (!holder["host"].empty()) text += " on host " + holder["host"];
  if (!holder["job"].empty()) text += " in job " + holder["job"];
  if (!holder["since"].empty()) text += " since " + holder["since"];
  return text + "; " + advice;
}

enum class Answer { taken, busy, unsupported };

/// An open-file-description lock: unlike the older fcntl lock, it does not vanish when some other
/// part of the process opens and closes the same file.
Answer lock_in_kernel(int fd) {
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &request) == 0) return Answer::taken;
  return errno == EAGAIN || errno == EACCES ? Answer::busy : Answer::unsupported;
}

/// True if the holder has ended on this host, or was killed and not all of its threads have.
bool is_ending(LockHolder holder) {
  if (is_elsewhere(holder)) return false;
  std::ifstream file("/proc/" + holder["pid"] + "/stat");
  std::string status;
  std::getline(file, status);
  const auto name_end = status.rfind(") ");  // the name may hold anything
  return name_end == std::string::npos ? is_dead(holder) : status[name_end + 2] == 'Z';
}

/// A killed process holds its locks until the last of its threads has ended. On a busy machine, or
/// while one waits for a disk, that takes some seconds.
Answer outwait(int fd) {
  constexpr std::chrono::seconds patience{15};
  constexpr std::chrono::milliseconds pause{20};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  auto answer = lock_in_kernel(fd);
  for (; answer == Answer::busy && std::chrono::steady_clock::now() < deadline;
       answer = lock_in_kernel(fd))
    std::this_thread::sleep_for(pause);
  return answer;
}

/// Nothing if there is a file already. Where the system knows no locks, that is the lock.
std::optional<PosixFile> make_if_missing(const std::filesystem::path& path) {
  try {
    return PosixFile(path, O_CREAT | O_EXCL | O_RDWR);
  } catch (const SystemError& error) {
    if (error.code != EEXIST) throw;
    return std::nullopt;
  }
}

/// Nothing if the file is gone by now.
std::optional<PosixFile> open_if_there(const std::filesystem::path& path) {
  try {
    return PosixFile(path, O_RDWR);
  } catch (const SystemError& error) {
    if (error.code != ENOENT) throw;
    return std::nullopt;
  }
}

bool still_named(int fd, const std::filesystem::path& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/// What is about to be overwritten must be a lock, and under this name only.
void refuse_strangers(const PosixFile& lock, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(lock.fd(), &info) != 0) throw_system_error(path, "be examined", errno);
  const auto holder = read_holder(path);
  const bool is_lock = info.st_size == 0 || holder.contains("host");
  if (info.st_nlink <= 1 && (is_lock || !still_named(lock.fd(), path))) return;
  throw RunError(path.string() + (is_lock ? " has another name (a hard link)" : " is no lock") +
                 "; move it away");
}

void write_holder(PosixFile& lock, const std::filesystem::path& path) {
  const auto text = describe_this_process();
  if (::ftruncate(lock.fd(), 0) != 0) throw_system_error(path, "be written", errno);
  lock.append(std::as_bytes(std::span(text)));
}

constexpr int most_attempts = 100;

[[noreturn]] void give_up(const std::filesystem::path& lock) {
  throw RunError(lock.string() + " keeps changing hands; try again");
}

/// Takes a lock where the system knows none: who makes the file has it. To take over from a dead
/// holder is the right of one, who holds the lock LOCK.new meanwhile; that file, complete, then
/// becomes the lock in one step.
PosixFile take_by_content(const std::filesystem::path& file, const std::filesystem::path& lock) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (auto made = make_if_missing(lock)) {
      write_holder(*made, lock);
      return std::move(*made);
    }
    const auto holder = read_holder(lock);
    if (!std::filesystem::exists(lock)) continue;
    if (!is_dead(holder)) {
      throw RunError(sentence(
          file, holder,
          "wait for it or stop it, or delete " + lock.string() + " if that process is gone"));
    }
    const auto successor = temporary_path(lock);
    auto taken = take_by_content(file, successor);
    // Another may have been faster; he is not dead.
    if (!is_dead(read_holder(lock))) {
      std::filesystem::remove(successor);
      continue;
    }
    std::filesystem::rename(successor, lock);
    if (still_named(taken.fd(), lock)) return taken;
  }
  give_up(lock);
}

}  // namespace

LockHolder read_holder(const std::filesystem::path& lock) {
  LockHolder holder;
  try {
    std::istringstream in(read_whole(lock));
    std::string name;
    std::string value;
    while (in >> name && std::getline(in >> std::ws, value)) holder[name] = value;
  } catch (const SystemError&) {
    // Gone by now, changed during the reading, or not readable for us: it names nobody.
  }
  return holder;
}

bool is_elsewhere(LockHolder holder) {
  return holder["host"] != this_host() ||
         (holder.contains(pid_namespace) && holder[pid_namespace] != this_pid_namespace());
}

bool is_dead(LockHolder holder) {
  if (is_elsewhere(holder)) return false;
  const auto pid = static_cast<pid_t>(std::atol(holder["pid"].c_str()));
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

FileLock::FileLock(const std::filesystem::path& file, LockKind kind) : path_(lock_path(file)) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    auto opened = make_if_missing(path_);
    const bool made = opened.has_value();
    if (!made) opened = open_if_there(path_);
    if (!opened) continue;
    auto answer = kind == LockKind::kernel ? lock_in_kernel(opened->fd()) : Answer::unsupported;
    if (answer == Answer::busy && is_ending(read_holder(path_))) answer = outwait(opened->fd());
    if (answer == Answer::busy) {
      throw RunError(sentence(file, read_holder(path_), "wait for it or stop it"));
    }
    // The holder may have removed the file between our opening and locking it.
    if (!still_named(opened->fd(), path_)) continue;
    refuse_strangers(*opened, path_);
    if (answer == Answer::unsupported && !made) {
      held_ = take_by_content(file, path_);
      return;
    }
    write_holder(*opened, path_);
    held_ = std::move(opened);
    return;
  }
  give_up(path_);
}

void FileLock::remove() {
  if (!held_) return;
  if (still_named(held_->fd(), path_)) ::unlink(path_.c_str());
  held_.reset();
}

}  // namespace wallheat
