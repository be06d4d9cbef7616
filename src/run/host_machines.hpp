#pragma once

#include <cstddef>
#include <vector>

#include "core/machine.hpp"
#include "mpi/mpi_link.hpp"

namespace wallheat {

/// What the workers of one host find there, in the order of their ranks.
struct HostMachines {
  std::vector<Machine> machines;
  std::size_t mine = 0;  ///< the place of this rank's
};

/// All ranks are to call it once, right after MPI has started; rank 0, which solves nothing, gets
/// nothing. Throws RunError if this rank's machine cannot be read; the others go on without it.
[[nodiscard]] HostMachines machines_of_host(MpiSession& mpi);

}  // namespace wallheat
