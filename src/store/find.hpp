#pragma once

#include "store/recovery.hpp"

namespace wallheat::store {

/// What a file holds, and what has to be done before it can be used.
struct Found {
  Contents contents;
  bool needs_recovery = false;
  bool by_log = false;  ///< the contents are those of a log
  std::vector<std::size_t>
      unproven;  ///< rows whose fields have to be compared with their checksums
};

/// For the file's one writer: reads a closed file, or the log of a killed one. Throws RunError or
/// Hdf5Error where there is nothing to go by.
[[nodiscard]] Found find(const std::filesystem::path& file, Findings& findings);

}  // namespace wallheat::store
