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
  /// False if the file system has no locks, so that only the age of its files shows if it is alive.
  bool is_verified = true;
};

/// Maximum age of the last activity of a writer that the kernel cannot verify, in s. A run replaces
/// its status file every two seconds; a file server may return an old one for a while.
inline constexpr double max_activity_age_s = 30;

/// Returns the holder of the lock of `file` without taking the lock or creating a file.
[[nodiscard]] LockHolder lock_holder_of(const std::filesystem::path& file);

/// True once a process is asked to stop; may be empty.
using StopPredicate = std::function<bool()>;

/// Throws the RunError "results.h5 is being written by process 17 on host ...". If the kernel
/// cannot verify the holder, the message names the lock file that the user may remove.
[[noreturn]] void throw_already_locked(const std::filesystem::path& file, const LockHolder& holder);

/// The lock of a file: an open-file-description lock on FILE.lock, which the kernel lets go of when
/// its holder dies, however it dies. It saves two starts of one job from working twice; that no
/// result is lost is not its task, as some file systems keep each host's locks apart.
///
/// On a file system without locks, the process that created FILE.lock holds it until it removes the
/// file, until its process ID ends on this host, or until FILE.lock, FILE.status, the new file of a
/// compaction and the journals have not changed for max_activity_age_s on the clock of the file
/// system. The next writer then takes over. The old one may only be stopped: fence its journals.
class WriteLock {
 public:
  /// Takes FILE.lock. Throws RunError that names the holder if another process has it, and that
  /// FILE.lock is something else if it is. Waits a while for a holder that was killed and has not
  /// quite ended, and up to max_activity_age_s for one that the kernel cannot verify, unless `stop`
  /// returns true.
  explicit WriteLock(const std::filesystem::path& file, const StopPredicate& stop = {});
  WriteLock(WriteLock&&) = default;
  WriteLock& operator=(WriteLock&&) = default;
  /// Removes FILE.lock, unless it is a successor's.
  ~WriteLock();

  /// Returns true if the lock was taken from a holder that the kernel could not verify.
  [[nodiscard]] bool took_over() const { return took_over_; }
  /// Throws RunError if another process has taken over FILE.lock. Call this before the journals of
  /// other processes are fenced.
  void require_no_successor() const;

 private:
  std::unique_ptr<File> held_;  ///< null once it was moved from
  bool took_over_ = false;
};

}  // namespace wallheat
