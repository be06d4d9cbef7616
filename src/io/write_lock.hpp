#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "io/files.hpp"

namespace wallheat {

/// Who holds, or held, the lock of a file. What the lock does not tell is empty.
struct LockHolder {
  enum class State {
    unlocked,  ///< there is no lock
    held,      ///< the lock is held
    stale,     ///< its process was killed: FILE.lock is left, but nobody holds it
    unknown    ///< of another host, whose locks this one may not see
  };
  State life = State::unlocked;
  std::string host;
  std::string pid;
  std::string job;    ///< of Slurm or LSF
  std::string since;  ///< UTC
};

/// Looks without taking the lock of `file`.
[[nodiscard]] LockHolder lock_holder_of(const std::filesystem::path& file);

/// True once a process is asked to stop; may be empty.
using StopPredicate = std::function<bool()>;

/// Throws the RunError "results.h5 is being written by process 17 on host ...".
[[noreturn]] void throw_already_locked(const std::filesystem::path& file, const LockHolder& holder);

/// The lock of a file: an open-file-description lock on FILE.lock, which the kernel lets go of when
/// its holder dies, however it dies. It saves two starts of one job from working twice; that no
/// result is lost is not its task, as some file systems keep each host's locks apart.
class WriteLock {
 public:
  /// Takes FILE.lock. Throws RunError that names the holder if another process has it, and that
  /// FILE.lock is something else if it is. Waits a while for a holder that was killed and has not
  /// quite ended, unless `stop` says true.
  explicit WriteLock(const std::filesystem::path& file, const StopPredicate& stop = {});
  WriteLock(WriteLock&&) = default;
  WriteLock& operator=(WriteLock&&) = default;
  /// Removes FILE.lock, unless it is a successor's.
  ~WriteLock();

 private:
  std::unique_ptr<File> held_;  ///< null once it was moved from
};

}  // namespace wallheat
