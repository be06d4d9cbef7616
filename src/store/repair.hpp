#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace wallheat {

/// What repair_results found and did.
struct RepairReport {
  bool changed = false;               ///< false: the file needed nothing and is as it was
  std::vector<std::string> messages;  ///< what was found and repaired, for people
  std::vector<std::string> lost;      ///< ids of plans that are pending because of damage
  std::size_t done = 0;               ///< plans with an answer
  std::size_t failed = 0;
  std::size_t pending = 0;
};

/// Makes a stopped, killed or damaged result file whole without a run: folds its journals in,
/// compares every row, field and room with its checksum, and leaves one HDF5 file. What is lost for
/// good becomes pending. A kill in its midst loses nothing. Throws RunError, one sentence that
/// names the file, if it cannot be done: a living process writes the file, it is of another format
/// version, or too damaged to be read.
[[nodiscard]] RepairReport repair_results(const std::filesystem::path& file);

}  // namespace wallheat
