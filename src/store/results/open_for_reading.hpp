#pragma once

#include <optional>

#include "io/posix_file.hpp"
#include "store/results/recovery.hpp"

namespace wallheat::store {

/// What one look at a file finds, without changing it.
struct ReadView {
  Snapshot snapshot;
  bool has_offsets = false;
  bool closed_well = false;
  std::vector<std::string> damage;   ///< sentences
  std::vector<std::size_t> damaged;  ///< rows that are pending for it, ascending
  std::optional<PosixFile> raw;      ///< the HDF5 file's bytes; none where only the log is left
};

/// Reads a finished, killed or currently written file. Throws RunError.
[[nodiscard]] ReadView open_for_reading(const StoreEnvironment& env,
                                        const std::filesystem::path& path, Offsets offsets);

}  // namespace wallheat::store
