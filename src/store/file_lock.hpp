#pragma once

#include <filesystem>
#include <optional>

#include "store/posix_file.hpp"

namespace wallheat::store {

/// How a lock is kept. `content_only` is for file systems that know no locks, and for their tests.
enum class LockKind { kernel, content_only };

/// The right to write a result file: the file FILE.lock, held by at most one living process. The
/// kernel lets go of it when the holder dies, however it dies.
class FileLock {
 public:
  /// Takes FILE.lock for `file`. Throws RunError that names the holder where another has it.
  explicit FileLock(const std::filesystem::path& file, LockKind kind = LockKind::kernel);

  /// Lets go and removes FILE.lock. Without it the file stays, as after a kill; it stops nobody.
  void remove();

 private:
  std::filesystem::path path_;
  std::optional<PosixFile> held_;
};

}  // namespace wallheat::store
