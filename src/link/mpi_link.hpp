#pragma once

#include <memory>
#include <string>

#include "queue/link.hpp"

namespace wallheat {

/// True where a launcher (mpirun, srun) started this process as a rank.
[[nodiscard]] bool launched_by_mpi();

/// The rank that the launcher gave this process, before MPI is started; 0 without a launcher.
[[nodiscard]] int launched_rank();

/// MPI from start to end. At most one per process.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] std::unique_ptr<Link> link();
  /// Ends this rank, and where it can the whole run, without MPI_Finalize, which would wait for
  /// ranks that are gone. Removes the shared memory that the run has on this host.
  [[noreturn]] void leave_without_the_lost(int status);
};

/// The MPI library's own name and version, for provenance.
[[nodiscard]] std::string mpi_library();

}  // namespace wallheat
