#pragma once

#include <cstddef>
#include <vector>

#include "io/posix_file.hpp"
#include "store/results/contents.hpp"

namespace wallheat::store {

/// Reads a field's compressed bytes from where they lie in the HDF5 file. False where they are not
/// what the row says they are.
[[nodiscard]] bool read_chunk(const PosixFile& source, Address address, const Row& row,
                              std::vector<std::byte>& chunk);

}  // namespace wallheat::store
