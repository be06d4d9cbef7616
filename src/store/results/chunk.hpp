#pragma once

#include <cstddef>
#include <vector>

#include "io/posix_file.hpp"
#include "store/results/snapshot.hpp"

namespace wallheat::store {

/// Reads a field's compressed bytes from where they lie in the HDF5 file. False if they are not
/// what the row says they are.
[[nodiscard]] bool read_chunk(const PosixFile& source, Offset offset, const Row& row,
                              std::vector<std::byte>& chunk);

}  // namespace wallheat::store
