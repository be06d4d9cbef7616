#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "core/codec.hpp"
#include "queue/link.hpp"

namespace wallheat {

/// True if a launcher (mpirun, srun) started this process as a rank.
[[nodiscard]] bool launched_by_mpi();
/// Whether a launcher may have bound this process to some of the cores. It has not with Open MPI's
/// --bind-to none or srun's --cpu-bind=none.
[[nodiscard]] bool may_be_bound_by_launcher();

/// True if mpirun (of Open MPI 4) was told not to end the run when a rank ends.
[[nodiscard]] bool survives_deaths();

/// The rank that the launcher gave this process, before MPI is started; 0 without a launcher.
[[nodiscard]] int launched_rank();

/// MPI from start to end. At most one per process. MPI starts and ends in all ranks together, so a
/// lost or stopped rank would keep all others waiting for ever. Instead, a process that has waited
/// for longer than its timeout says so and leaves, and plain mpirun then ends the run.
class MpiSession {
 public:
  /// How long rank 0 waits for the start of MPI, and for its end; workers wait up to twice as long.
  /// If the start takes longer, this process leaves with EXIT_FAILURE.
  explicit MpiSession(std::chrono::duration<double> timeout = std::chrono::minutes(3));
  ~MpiSession();  // NOLINT(performance-trivially-destructible): not if there is MPI
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// What each rank of this host says, by rank. All ranks of all hosts have to call it, and wait
  /// for each other as they do for the start of MPI.
  [[nodiscard]] std::map<int, Bytes> gather_on_host(const Bytes& mine) const;
  /// This rank's, as long as the session lasts.
  [[nodiscard]] Link& link();
  /// Ends MPI, as the destructor does if nobody else did. If the end takes too long, this process
  /// leaves with `status`.
  void end(int status);
  /// Ends this rank, and if it can the whole run, without MPI_Finalize, which would wait for ranks
  /// that are gone. Removes the shared memory that the run has on this host.
  [[noreturn]] void leave_without_the_lost(int status);

 private:
  // A build without MPI has no use for them.
  [[maybe_unused]] std::chrono::duration<double> timeout_;
  [[maybe_unused]] bool ended_ = false;
  /// Until MPI has ended it reads from what is on its way, and writes into what has not arrived.
  std::unique_ptr<Link> link_;
};

/// The MPI library's own name and version, for provenance.
[[nodiscard]] std::string mpi_library();

/// This rank's link over MPI, which has started.
[[nodiscard]] std::unique_ptr<Link> make_mpi_link(int size);

/// Throws RunError if a call of MPI has failed.
void check_mpi(int code, const char* call);

}  // namespace wallheat
