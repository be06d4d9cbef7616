#pragma once

#include <optional>

#include "io/posix_file.hpp"
#include "store/results/recovery.hpp"

// What a result file and the log beside it say.
namespace wallheat::store {

/// What one look at a file finds, without changing it.
struct ReadView {
  Snapshot snapshot;
  bool has_offsets = false;
  bool closed_well = false;
  DamageReport damage;           ///< its lost rows ascending
  std::optional<PosixFile> raw;  ///< the HDF5 file's bytes; none where only the log is left
};

/// Reads a finished, killed or currently written file. Throws RunError.
[[nodiscard]] ReadView open_for_reading(const StoreEnvironment& env,
                                        const std::filesystem::path& path, Offsets offsets);

/// For the file's one writer: reads a closed file, or the log of a killed one. Throws RunError or
/// Hdf5Error if there is nothing to go by, or the log is another file's.
[[nodiscard]] OpenedFile open_for_writing(const StoreEnvironment& env,
                                          const std::filesystem::path& path, DamageReport& damage);

}  // namespace wallheat::store
