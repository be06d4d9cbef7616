#pragma once

#include "store/hdf5/hdf5_handle.hpp"
#include "store/results/row.hpp"

namespace wallheat::store {

/// The compound type of `/rows`: a Row, byte for byte, with named columns and an enum for the
/// status.
[[nodiscard]] Handle make_row_type();

}  // namespace wallheat::store
