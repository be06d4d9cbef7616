#pragma once

#include <filesystem>
#include <string>

namespace wallheat {

/// Who has, or had, the right to write a result file, as the lock file beside it tells.
struct Writer {
  enum class Life {
    none,     ///< there is no lock file
    lives,    ///< the lock is held
    dead,     ///< killed: the lock file is left, but nobody holds it
    unknown,  ///< on another host, and this file system does not tell whether it is held there
  };
  Life life = Life::none;
  std::string host;
  std::string pid;
  std::string job;    ///< of Slurm or LSF; may be empty
  std::string since;  ///< UTC
};

/// Looks without taking the lock. Throws RunError as result_path does.
[[nodiscard]] Writer writer_of(const std::filesystem::path& file);

}  // namespace wallheat
