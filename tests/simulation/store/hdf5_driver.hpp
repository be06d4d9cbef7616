#pragma once

#include <cstdint>
#include <functional>

#include "simulation/store/disk.hpp"

namespace wallheat::simulation {

/// What chooses an HDF5 file driver that keeps its files on the process's disk. It reads, writes
/// and truncates when HDF5's own driver (H5FDsec2.c) would.
[[nodiscard]] std::function<void(std::int64_t access_list)> driver_on(Process& process);

}  // namespace wallheat::simulation
