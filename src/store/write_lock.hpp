#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "io/files.hpp"

namespace wallheat {

/// Holder of the lock of a result file. Fields that the lock file does not contain are empty.
struct LockHolder {
  enum class State {
    unlocked,  ///< no lock file exists
    held,      ///< a process holds the lock
    stale,     ///< FILE.lock exists, but its holder has ended
    /// The holder is on another host, whose locks may be invisible here, or FILE.lock cannot be
    /// read.
    unknown
  };
  State life = State::unlocked;
  std::string host;
  std::string pid;
  std::string job;    ///< job of Slurm or LSF
  std::string since;  ///< UTC
  /// False if the file system does not support locks, so that only the age of its files shows
  /// whether the holder is running.
  bool is_verified = true;
};

/// Maximum age of the last activity of a writer that the kernel cannot verify, in s. A run replaces
/// its status file every two seconds; a file server may return an old one for a while.
inline constexpr double max_activity_age_s = 30;

/// Returns the holder of the lock of `file` without taking the lock or creating a file.
[[nodiscard]] LockHolder lock_holder_of(const std::filesystem::path& file);

/// Returns true after a stop of the process was requested. May be empty.
using StopPredicate = std::function<bool()>;

/// Throws the RunError "results.h5 is being written by process 17 on host ...". If the kernel
/// cannot verify the holder, the message contains the name of the lock file, which the user may
/// remove.
[[noreturn]] void throw_already_locked(const std::filesystem::path& file, const LockHolder& holder);

/// Exclusive lock of a result file: an open-file-description lock on FILE.lock, which the kernel
/// releases however its holder dies. The lock prevents two runs from doing the same work. It is not
/// needed for the safety of results, because some file systems do not share locks between hosts.
///
/// On a file system without locks, the process that created FILE.lock holds it until it removes the
/// file, until its process ID ends on this host, or until FILE.lock, FILE.status, the new file of a
/// compaction and the journals have not changed for max_activity_age_s on the clock of the file
/// system. The next writer then takes over. Fence the journals of the old writer after that,
/// because it may only be suspended.
class WriteLock {
 public:
  /// Acquires FILE.lock. Throws RunError if another process holds it (the message identifies the
  /// holder), or if FILE.lock is not a lock file. Waits up to 15 s for a holder that was killed and
  /// has not quite ended, and up to max_activity_age_s for a holder that the kernel cannot verify,
  /// unless `stop` returns true.
  explicit WriteLock(const std::filesystem::path& file, const StopPredicate& stop = {});
  WriteLock(WriteLock&&) = default;
  WriteLock& operator=(WriteLock&&) = default;
  /// Removes FILE.lock, unless it belongs to a successor.
  ~WriteLock();

  /// Returns true if the lock was taken from a holder that the kernel could not verify.
  [[nodiscard]] bool took_over() const { return took_over_; }
  /// Throws RunError if another process has taken over FILE.lock. Call this before the journals of
  /// other processes are fenced.
  void require_no_successor() const;

 private:
  std::unique_ptr<File> held_;  ///< null if it was moved from
  bool took_over_ = false;
};

}  // namespace wallheat
