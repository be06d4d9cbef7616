#pragma once

#include <string>

#include "queue/link.hpp"
#include "run/run_options.hpp"
#include "run/timeouts.hpp"
#include "view/console.hpp"

namespace wallheat {

/// What rank 0 knows of its surroundings.
struct RunSurroundings {
  int ranks = 1;            ///< of MPI; 1 if one process does all
  std::string mpi_library;  ///< "none" without MPI
  Timeouts timeouts;
};

/// Rank 0's run, from the list of ids to the closed file. What reads or writes files runs in
/// another thread, so that the calling one can tell the workers all the time that rank 0 lives.
/// Returns an ExitStatus; throws UsageError or RunError.
[[nodiscard]] int run_rank0(Link& link, const RunOptions& options,
                            const RunSurroundings& surroundings, Log& logger);

}  // namespace wallheat
