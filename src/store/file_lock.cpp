#include "store/file_lock.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

/// The lock file's text: one "name value" a line.
std::string describe_this_process() {
  std::string text =
      "host " + this_host() + "\npid " + std::to_string(::getpid()) + "\nsince " + now_utc() + "\n";
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

/// True where this call made the file: on a file system without locks that is the lock.
bool create_if_missing(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  if (fd < 0 && errno != EEXIST) throw_system_error(path, "be made", errno);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

bool still_named(int fd, const std::filesystem::path& path) {
  struct stat held {
  }, named{};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

}  // namespace

LockHolder read_holder(const std::filesystem::path& lock) {
  LockHolder holder;
  std::ifstream in(lock);
  std::string name, value;
  while (in >> name && std::getline(in >> std::ws, value)) holder[name] = value;
  return holder;
}

bool is_elsewhere(LockHolder holder) { return holder["host"] != this_host(); }

bool is_dead(LockHolder holder) {
  if (is_elsewhere(holder)) return false;
  const auto pid = static_cast<pid_t>(std::atol(holder["pid"].c_str()));
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

FileLock::FileLock(const std::filesystem::path& file, LockKind kind) : path_(file) {
  path_ += ".lock";
  for (int attempt = 0; attempt < 100; ++attempt) {
    const bool existed = !create_if_missing(path_);
    PosixFile opened(path_, O_RDWR);
    const auto answer =
        kind == LockKind::kernel ? lock_in_kernel(opened.fd()) : Answer::unsupported;
    if (answer == Answer::busy) {
      throw RunError(sentence(file, read_holder(path_), "wait for it or stop it"));
    }
    // The holder may have removed the file between our opening and locking it.
    if (!still_named(opened.fd(), path_)) continue;
    if (answer == Answer::unsupported && existed) {
      const auto holder = read_holder(path_);
      if (!is_dead(holder)) {
        throw RunError(sentence(
            file, holder,
            "wait for it or stop it, or delete " + path_.string() + " if that process is gone"));
      }
    }
    const auto text = describe_this_process();
    if (::ftruncate(opened.fd(), 0) != 0) throw_system_error(path_, "be written", errno);
    opened.append(std::as_bytes(std::span(text)));
    held_ = std::move(opened);
    return;
  }
  throw RunError(path_.string() + " keeps changing hands; try again");
}

void FileLock::remove() {
  if (!held_) return;
  ::unlink(path_.c_str());
  held_.reset();
}

}  // namespace wallheat::store
