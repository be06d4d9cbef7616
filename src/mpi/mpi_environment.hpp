#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/codec.hpp"
#include "queue/link.hpp"

// Launchers of ranks, and the MPI library. This header does not include mpi.h: a build without MPI
// implements the same functions in mpi_environment_absent.cpp.

namespace wallheat {

/// Returns true if a launcher (mpirun, srun) started this process as a rank.
[[nodiscard]] bool launched_by_mpi();
/// Returns true if a launcher may have bound this process to some of the cores. Open MPI with
/// --bind-to none and srun with --cpu-bind=none do not bind.
[[nodiscard]] bool launcher_may_bind_cores();

/// Returns true if mpirun (Open MPI 4) was started with the option not to end the run when a rank
/// ends.
[[nodiscard]] bool recovery_enabled();

/// Returns the rank that the launcher gave this process, also before MPI is initialized; 0 without
/// a launcher. If srun started several processes without MPI, returns the number of this one.
[[nodiscard]] int launched_rank();

/// Returns the number of processes that a launcher started together with this one, itself included,
/// according to the launcher's variables; 0 if they do not contain it.
[[nodiscard]] int launched_process_count();

/// Throws UsageError if a launcher started several processes. Call this in a process that MPI does
/// not connect to others: srun without PMIx, or the mpiexec of another MPI library, starts such
/// processes, and each of them would solve the whole campaign.
void require_single_process();

/// Initializes MPI in its constructor and finalizes it in finalize(). At most one instance per
/// process.
///
/// MPI_Init and MPI_Finalize are collective: a lost or stopped rank would block all others forever.
/// Instead, a process that has waited longer than its timeout prints a message and exits, and plain
/// mpirun then ends the run.
class MpiEnvironment {
 public:
  using Timeout = std::chrono::duration<double>;
  /// `start` and `end` are the timeouts of rank 0 for the start and the end of MPI; those of
  /// workers are up to twice as long. If the start takes longer, the process exits with
  /// EXIT_FAILURE.
  explicit MpiEnvironment(Timeout start = std::chrono::minutes(3),
                          Timeout end = std::chrono::minutes(3));
  /// Calls finalize(EXIT_FAILURE, true), unless finalize() was called.
  ~MpiEnvironment();  // NOLINT(performance-trivially-destructible): not if there is MPI
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Returns the messages of all ranks of the same group, by rank. All ranks of all groups must
  /// call it, and they wait for each other with the timeout for the start of MPI. When rank 0
  /// returns, all other ranks have received their messages.
  [[nodiscard]] std::map<int, Bytes> gather_by_group(const std::string& group,
                                                     const Bytes& mine) const;
  /// Returns the link of this rank. Valid as long as this object.
  [[nodiscard]] Link& link() { return *link_; }
  /// Finalizes MPI. If `all_are_there`, all ranks do so together, and this returns `status`; if it
  /// takes longer than the timeout, the process exits with `status`. If ranks are lost,
  /// MPI_Finalize would block: then this does not return, but ends the whole run if it can, removes
  /// the run's shared memory on this host, and exits with `status`.
  int finalize(int status, bool all_are_there);

 private:
  [[noreturn]] void exit_without_lost_ranks(int status) const;

  // A build without MPI does not use all of them.
  [[maybe_unused]] Timeout start_timeout_;
  [[maybe_unused]] Timeout end_timeout_;
  [[maybe_unused]] bool has_ended_ = false;
  int rank_ = 0;
  int size_ = 1;
  /// Must exist until MPI is finalized, because MPI reads from messages in flight and writes into
  /// those that have not arrived.
  std::unique_ptr<Link> link_;
};

/// Returns name and version of the MPI library, for provenance; "none" in a build without MPI.
[[nodiscard]] std::string mpi_library();

/// Returns name and version of an MPI library from the beginning of its version string: "Open MPI
/// v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n..." become "Open MPI v4.1.4" and
/// "MPICH 4.0.2".
[[nodiscard]] std::string short_library_version(std::string_view text);

/// Returns the link of this rank over MPI, which must be initialized.
[[nodiscard]] std::unique_ptr<Link> make_mpi_link(int size);

/// Throws RunError if `code` is an error. `call` is the name of the MPI function.
void check_mpi(int code, const char* call);

}  // namespace wallheat
