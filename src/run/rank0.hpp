#pragma once

#include <string>

#include "core/background_thread.hpp"
#include "isolation/worker_loop.hpp"
#include "queue/link.hpp"
#include "run/run_options.hpp"
#include "view/terminal.hpp"

namespace wallheat {

/// Properties of the environment that rank 0 needs.
struct RunEnvironment {
  int ranks = 1;            ///< number of MPI ranks; 1 without MPI
  std::string mpi_library;  ///< "none" without MPI
  Timeouts timeouts;
};

/// Runs rank 0, from the list of IDs to the closed file. All steps that read or write files run in
/// `thread`, so that the calling thread can send heartbeats to the workers all the time. Returns an
/// ExitStatus. Throws UsageError or RunError.
[[nodiscard]] int run_rank0(Link& link, BackgroundThread& thread, const RunOptions& options,
                            const RunEnvironment& environment, Log& log);

}  // namespace wallheat
