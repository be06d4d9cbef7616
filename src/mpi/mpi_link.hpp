#pragma once

#include <memory>

#include "queue/link.hpp"

namespace wallheat {

/// This rank's link over MPI, which has started.
[[nodiscard]] std::unique_ptr<Link> make_mpi_link(int size);

/// Throws RunError if a call of MPI has failed.
void check_mpi(int code, const char* call);

}  // namespace wallheat
