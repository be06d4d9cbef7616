#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/posix_file.hpp"

namespace wallheat {

/// How a lock is kept. `content_only` is for file systems that know no locks, and for their tests.
enum class LockKind { kernel, content_only };

/// Who has, or had, the right to write a file, as the lock beside it tells. What it does not tell
/// is empty.
struct Writer {
  enum class Life {
    none,     ///< there is no lock file
    lives,    ///< the lock is held, or the holder is on another host and gives signs of life
    dead,     ///< killed: the lock file is left, but nobody holds it
    unknown,  ///< on another host, where the lock may be held without this one seeing it
  };
  Life life = Life::none;
  std::string host;
  std::string pid;
  std::string pid_namespace;
  std::string job;    ///< of Slurm or LSF
  std::string since;  ///< UTC
};

/// Looks without taking the lock of `file`, whose name is that of result_path().
[[nodiscard]] Writer writer_of(System& system, const std::filesystem::path& file);

/// The right to write a result file: the file FILE.lock, held by at most one living process. The
/// kernel lets go of it when the holder dies, however it dies; where the file system knows no
/// locks, the next one takes it over. Where it keeps the locks of each host apart, a holder on
/// another host is known by his signs of life: what he writes beside the file changes.
class FileLock {
 public:
  /// Takes FILE.lock for `file`. Throws RunError that names the holder where another has it. If
  /// someone on another host has written here within the last half a minute, this waits as long to
  /// see whether he goes on, and says so on stderr.
  FileLock(System& system, const std::filesystem::path& file, LockKind kind = LockKind::kernel);

  /// Lets go and removes FILE.lock. Without it the file stays, as after a kill; it stops nobody.
  void remove();

 private:
  System& system_;
  std::filesystem::path path_;
  std::optional<PosixFile> held_;
};

/// What `work` returns, called while FILE.lock is held for `file`. The lock is removed however it
/// ends.
template <class Work>
auto with_file_lock(System& system, const std::filesystem::path& file, const Work& work) {
  FileLock lock(system, file);
  try {
    auto result = work();
    lock.remove();
    return result;
  } catch (...) {
    lock.remove();
    throw;
  }
}

}  // namespace wallheat
