#include "io/file_lock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/utc_text.hpp"
#include "io/file_names.hpp"
#include "io/print_error.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// The words of a lock file, one "name value" a line.
struct Word {
  const char* name;
  std::string Writer::*value;
};
constexpr std::array words{
    Word{"host", &Writer::host}, Word{"pid", &Writer::pid}, Word{"since", &Writer::since},
    Word{"pid_namespace", &Writer::pid_namespace}, Word{"job", &Writer::job}};

std::string describe_this_process(System& system) {
  Writer self;
  self.host = system.host();
  self.pid = std::to_string(system.pid());
  self.since = utc_text(system.now(), "%Y-%m-%d %H:%M:%S UTC");
  self.pid_namespace = system.pid_namespace();
  self.job = system.job();
  std::string text;
  for (const auto& [name, value] : words)
    if (!(self.*value).empty()) text += std::string(name) + " " + self.*value + "\n";
  return text;
}

Writer read_holder(System& system, const std::filesystem::path& lock) {
  Writer holder;
  try {
    std::istringstream in(read_whole(system, lock));
    std::string name;
    std::string value;
    while (in >> name && std::getline(in >> std::ws, value)) {
      for (const Word& word : words)
        if (name == word.name) holder.*word.value = value;
    }
  } catch (const SystemError&) {
    // Gone by now, changed during the reading, or not readable for us: it names nobody.
  }
  return holder;
}

bool is_elsewhere(System& system, const Writer& holder) {
  return holder.host != system.host() ||
         (!holder.pid_namespace.empty() && holder.pid_namespace != system.pid_namespace());
}

std::string sentence(const std::filesystem::path& file, const Writer& holder,
                     const std::string& advice) {
  std::string text = file.string() + " is being written by ";
  text += holder.pid.empty() ? "another process" : "process " + holder.pid;
  if (!holder.host.empty()) text += " on host " + holder.host;
  if (!holder.job.empty()) text += " in job " + holder.job;
  if (!holder.since.empty()) text += " since " + holder.since;
  return text + "; " + advice;
}

enum class Answer { taken, busy, unsupported };

struct flock whole_file() {
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  return request;
}

/// An open-file-description lock: unlike the older fcntl lock, it does not vanish when some other
/// part of the process opens and closes the same file.
Answer lock_in_kernel(System& system, int fd) {
  auto request = whole_file();
  if (system.lock(fd, F_OFD_SETLK, &request) == 0) return Answer::taken;
  return errno == EAGAIN || errno == EACCES ? Answer::busy : Answer::unsupported;
}

/// Nothing if the holder is elsewhere, or names no process.
std::optional<System::Life> life_of(System& system, const Writer& holder) {
  const auto pid = static_cast<pid_t>(std::atol(holder.pid.c_str()));
  if (pid <= 0 || is_elsewhere(system, holder)) return std::nullopt;
  return system.life_of(pid);
}

/// True if the holder is known to be gone; a process of another host cannot be asked.
bool is_dead(System& system, const Writer& holder) {
  return life_of(system, holder) == System::Life::gone;
}

/// A killed process holds its locks until the last of its threads has ended. On a busy machine, or
/// while one waits for a disk, that takes some seconds.
Answer outwait(System& system, int fd) {
  constexpr std::chrono::seconds patience{15};
  constexpr std::chrono::milliseconds pause{20};
  const auto deadline = system.uptime() + patience;
  auto answer = lock_in_kernel(system, fd);
  for (; answer == Answer::busy && system.uptime() < deadline; answer = lock_in_kernel(system, fd))
    system.sleep(pause);
  return answer;
}

/// Nothing where the system says `expected` instead.
std::optional<PosixFile> open_unless(int expected, System& system,
                                     const std::filesystem::path& path, int flags) {
  try {
    return PosixFile(system, path, flags);
  } catch (const SystemError& error) {
    if (error.code != expected) throw;
    return std::nullopt;
  }
}

/// Nothing if there is a file already. Where the system knows no locks, that is the lock.
std::optional<PosixFile> make_if_missing(System& system, const std::filesystem::path& path) {
  return open_unless(EEXIST, system, path, O_CREAT | O_EXCL | O_RDWR);
}

bool still_named(System& system, int fd, const std::filesystem::path& path) {
  struct stat held {};
  struct stat named {};
  return system.fstat(fd, &held) == 0 && system.lstat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/// True of the text of a lock, also of one that a loss of power cut short or left as zeros.
bool is_text_of_lock(std::string_view text) {
  constexpr std::string_view beginning = "host ";
  text = text.substr(0, beginning.size());
  return std::equal(text.begin(), text.end(), beginning.begin(),
                    [](char found, char wanted) { return found == wanted || found == '\0'; });
}

/// What is about to be overwritten must be a lock, and under this name only.
void refuse_strangers(System& system, const PosixFile& lock, const std::filesystem::path& path) {
  struct stat info {};
  if (system.fstat(lock.fd(), &info) != 0) throw_system_error(path, "be examined", errno);
  std::array<char, 8> text{};
  const std::size_t length = std::min<std::size_t>(text.size(), lock.size());
  const bool is_lock = lock.read_at(0, std::as_writable_bytes(std::span(text.data(), length))) &&
                       is_text_of_lock({text.data(), length});
  if (info.st_nlink <= 1 && (is_lock || !still_named(system, lock.fd(), path))) return;
  throw RunError(path.string() + (is_lock ? " has another name (a hard link)" : " is no lock") +
                 "; move it away");
}

void write_holder(System& system, PosixFile& lock) {
  const auto text = describe_this_process(system);
  lock.clear();
  lock.append(std::as_bytes(std::span(text)));
}

/// What changes while a process writes a file: a run replaces its status every two seconds.
struct SignsOfLife {
  std::array<struct stat, 5> files{};
  std::time_t newest = 0;

  [[nodiscard]] bool operator==(const SignsOfLife& other) const {
    const auto same = [](const struct stat& a, const struct stat& b) {
      return a.st_ino == b.st_ino && a.st_size == b.st_size &&
             a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
    };
    return std::equal(files.begin(), files.end(), other.files.begin(), same);
  }
};

SignsOfLife signs_of_life(System& system, const std::filesystem::path& file) {
  SignsOfLife signs;
  auto next = signs.files.begin();
  for (const auto& path :
       {file, temporary_path(file), journal_path(file, 0), lock_path(file), status_path(file)}) {
    if (const auto info = look_at(system, path)) *next = *info;
    signs.newest = std::max(signs.newest, next->st_mtim.tv_sec);
    ++next;
  }
  return signs;
}

// A writer that is at work is never silent for so long; clocks of two hosts may differ by some
// seconds, and a file server may show an old state for a while.
constexpr std::chrono::seconds silence{30};

std::chrono::seconds age_of(System& system, const SignsOfLife& signs) {
  return std::chrono::seconds(system.now() - signs.newest);
}

/// The kernel's locks do not always reach over hosts (Lustre's localflock, nolock of NFS). Throws
/// RunError if a holder on another host goes on writing. It is waited for until he has been silent
/// for long enough: he may have been killed a moment ago.
void outwait_elsewhere(System& system, const std::filesystem::path& file, const Writer& holder) {
  constexpr std::chrono::milliseconds pause{500};
  // By the clock of this host alone, unless the signs are so far away that no clock is so wrong.
  constexpr std::chrono::hours long_ago{1};
  const SignsOfLife before = signs_of_life(system, file);
  if (std::chrono::abs(age_of(system, before)) > long_ago) return;
  print_error(
      "wallheat: {} was being written on host {} until lately; waiting for {} s to see whether it "
      "still is",
      file.string(), holder.host, silence.count());
  const auto deadline = system.uptime() + silence;
  while (system.uptime() < deadline) {
    system.sleep(pause);
    if (!(signs_of_life(system, file) == before))
      throw RunError(sentence(file, holder, "wait for it or stop it"));
  }
}

constexpr int most_attempts = 100;

/// Also of a link that leads nowhere.
bool is_there(System& system, const std::filesystem::path& path) {
  struct stat info {};
  return system.lstat(path.c_str(), &info) == 0;
}

Writer::Life life_of_writer(System& system, const std::filesystem::path& file,
                            const Writer& holder) {
  const PosixFile opened(system, lock_path(file), O_RDONLY);
  auto request = whole_file();
  const bool asked = system.lock(opened.fd(), F_OFD_GETLK, &request) == 0;
  if (asked && request.l_type != F_UNLCK) return Writer::Life::lives;
  if (is_elsewhere(system, holder)) {
    const auto age = age_of(system, signs_of_life(system, file));
    return std::chrono::abs(age) < silence ? Writer::Life::lives : Writer::Life::unknown;
  }
  return asked || is_dead(system, holder) ? Writer::Life::dead : Writer::Life::lives;
}

[[noreturn]] void give_up(const std::filesystem::path& lock) {
  throw RunError(lock.string() + " keeps changing hands; try again");
}

/// Takes a lock where the system knows none: who makes the file has it. To take over from a dead
/// holder is the right of one, who holds the lock LOCK.new meanwhile; that file, complete, then
/// becomes the lock in one step.
PosixFile take_by_content(System& system, const std::filesystem::path& file,
                          const std::filesystem::path& lock) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (auto made = make_if_missing(system, lock)) {
      write_holder(system, *made);
      return std::move(*made);
    }
    const auto holder = read_holder(system, lock);
    if (!exists(system, lock)) continue;
    if (!is_dead(system, holder)) {
      throw RunError(sentence(
          file, holder,
          "wait for it or stop it, or delete " + lock.string() + " if that process is gone"));
    }
    const auto successor = temporary_path(lock);
    auto taken = take_by_content(system, file, successor);
    // Another may have been faster; he is not dead.
    if (!is_dead(system, read_holder(system, lock))) {
      remove_file(system, successor);
      continue;
    }
    if (system.rename(successor.c_str(), lock.c_str()) != 0)
      throw_system_error(successor, "be renamed to " + lock.string(), errno);
    if (still_named(system, taken.fd(), lock)) return taken;
  }
  give_up(lock);
}

}  // namespace

Writer writer_of(System& system, const std::filesystem::path& file) {
  const auto lock = lock_path(file);
  if (!is_there(system, lock)) return {};
  Writer writer = read_holder(system, lock);
  try {
    writer.life = life_of_writer(system, file, writer);
  } catch (const RunError&) {
    // It may have been removed between two steps; else it is somebody's who keeps it to himself.
    writer.life = is_there(system, lock) ? Writer::Life::unknown : Writer::Life::none;
  }
  return writer;
}

FileLock::FileLock(System& system, const std::filesystem::path& file, LockKind kind)
    : system_(system), path_(lock_path(file)) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    auto opened = make_if_missing(system, path_);
    const bool made = opened.has_value();
    if (!made) opened = open_unless(ENOENT, system, path_, O_RDWR);  // it may be gone by now
    if (!opened) continue;
    auto answer =
        kind == LockKind::kernel ? lock_in_kernel(system, opened->fd()) : Answer::unsupported;
    if (answer == Answer::busy) {
      const auto life = life_of(system, read_holder(system, path_));
      const bool is_ending = life && *life != System::Life::runs;
      if (is_ending) answer = outwait(system, opened->fd());
    }
    if (answer == Answer::busy) {
      throw RunError(sentence(file, read_holder(system, path_), "wait for it or stop it"));
    }
    // The holder may have removed the file between our opening and locking it.
    if (!still_named(system, opened->fd(), path_)) continue;
    refuse_strangers(system, *opened, path_);
    if (answer == Answer::taken && !made) {
      const Writer holder = read_holder(system, path_);
      // A text that a loss of power cut short names nobody.
      if (!holder.pid.empty() && holder.host != system.host())
        outwait_elsewhere(system, file, holder);
    }
    if (answer == Answer::unsupported && !made) {
      held_ = take_by_content(system, file, path_);
      return;
    }
    write_holder(system, *opened);
    held_ = std::move(opened);
    return;
  }
  give_up(path_);
}

void FileLock::remove() {
  if (!held_) return;
  if (still_named(system_, held_->fd(), path_)) system_.unlink(path_.c_str());
  held_.reset();
}

}  // namespace wallheat
