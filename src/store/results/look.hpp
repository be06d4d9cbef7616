#pragma once

#include <optional>

#include "io/posix_file.hpp"
#include "store/results/recovery.hpp"

namespace wallheat::store {

/// What one look at a file finds, without changing it.
struct View {
  Contents contents;
  bool has_addresses = false;
  bool closed_well = false;
  std::vector<std::string> damage;   ///< sentences
  std::vector<std::size_t> damaged;  ///< rows that are pending for it, ascending
  std::optional<PosixFile> raw;      ///< the HDF5 file's bytes; none where only the log is left
};

/// Reads a finished, killed or currently written file. Throws RunError.
[[nodiscard]] View look_at(const std::filesystem::path& path, Addresses addresses);

}  // namespace wallheat::store
