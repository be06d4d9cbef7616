#pragma once

#include "store/results/recovery.hpp"

namespace wallheat::store {

/// What a file holds, and what has to be done before it can be used.
struct OpenedFile {
  Snapshot snapshot;
  bool needs_recovery = false;
  bool by_log = false;                ///< the snapshot is that of a log
  std::size_t logged = 0;             ///< results that this log stored
  std::vector<std::size_t> unproven;  ///< rows whose fields are to be compared with their checksums
  std::vector<std::size_t> doubtful;  ///< rows whose records in the log were damaged
  bool superseded_log = false;        ///< there is a log of no use beside the closed file
};

/// For the file's one writer: reads a closed file, or the log of a killed one. Throws RunError or
/// Hdf5Error if there is nothing to go by, or the log is another file's.
[[nodiscard]] OpenedFile open_for_writing(const StoreEnvironment& env,
                                          const std::filesystem::path& path, DamageReport& damage);

/// Makes a file that needs recovery closed, durable and equal to `found.snapshot`.
void take_up(const StoreEnvironment& env, const std::filesystem::path& path, OpenedFile& found,
             DamageReport& damage);

}  // namespace wallheat::store
