#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace wallheat {

/// Result of repair_results().
struct RepairReport {
  bool changed = false;               ///< false: the file was intact and was not changed
  std::vector<std::string> messages;  ///< damage that was found, and what was repaired
  std::vector<std::string> lost;      ///< IDs of plans that are pending because of damage
  std::size_t done = 0;               ///< solved plans
  std::size_t failed = 0;
  std::size_t pending = 0;
};

/// Repairs a stopped, killed or damaged result file without a run: verifies the checksums of all
/// rows, fields and rooms, and compacts the file. Plans whose results are damaged become pending. A
/// kill during the repair loses nothing. Throws RunError with a message that names the file if a
/// running process writes the file, if the file has another format version, or if it is too damaged
/// to be read.
[[nodiscard]] RepairReport repair_results(const std::filesystem::path& file);

}  // namespace wallheat
