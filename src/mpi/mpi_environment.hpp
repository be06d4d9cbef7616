#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/codec.hpp"
#include "queue/link.hpp"

namespace wallheat {

/// True if a launcher (mpirun, srun) started this process as a rank.
[[nodiscard]] bool launched_by_mpi();
/// Whether a launcher may have bound this process to some of the cores. It has not with Open MPI's
/// --bind-to none or srun's --cpu-bind=none.
[[nodiscard]] bool launcher_may_bind_cores();

/// True if mpirun (of Open MPI 4) was told not to end the run when a rank ends.
[[nodiscard]] bool recovery_enabled();

/// The rank that the launcher gave this process, before MPI is started; 0 without a launcher. If
/// srun started several processes without MPI, the number of this one.
[[nodiscard]] int launched_rank();

/// Returns the number of processes that a launcher started together with this one, itself included,
/// as the launcher's variables say; 0 if they do not.
[[nodiscard]] int launched_process_count();

/// Call this in a process that MPI connects to no other. Throws UsageError if a launcher started
/// several processes: srun without PMIx, or the mpiexec of another MPI library. Each of them would
/// solve the whole campaign.
void require_single_process();

/// MPI from start to end. At most one per process. MPI starts and ends in all ranks together, so a
/// lost or stopped rank would keep all others waiting for ever. Instead, a process that has waited
/// for longer than its timeout says so and leaves, and plain mpirun then ends the run.
class MpiEnvironment {
 public:
  using Timeout = std::chrono::duration<double>;
  /// How long rank 0 waits for the start of MPI, and for its end; workers wait up to twice as long.
  /// If the start takes longer, this process leaves with EXIT_FAILURE.
  explicit MpiEnvironment(Timeout start = std::chrono::minutes(3),
                          Timeout end = std::chrono::minutes(3));
  /// As end(EXIT_FAILURE, true), if nobody has called that.
  ~MpiEnvironment();  // NOLINT(performance-trivially-destructible): not if there is MPI
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// What each rank of the same group says, by rank. All ranks of all groups have to call it, and
  /// wait for each other as they do for the start of MPI. When rank 0 returns, all other ranks have
  /// received their messages.
  [[nodiscard]] std::map<int, Bytes> gather_by_group(const std::string& group,
                                                     const Bytes& mine) const;
  /// This rank's, as long as the session lasts.
  [[nodiscard]] Link& link() { return *link_; }
  /// The way out of MPI. `all_are_there`: the ranks end it together, and this returns `status`,
  /// which is also what this process leaves with if that takes too long. If some are lost, MPI
  /// would wait for them: then this process leaves with `status` without that, ends the whole run
  /// if it can, and removes the shared memory that the run has on this host.
  int finalize(int status, bool all_are_there);

 private:
  [[noreturn]] void exit_without_lost_ranks(int status) const;

  // A build without MPI has no use for some of them.
  [[maybe_unused]] Timeout start_timeout_;
  [[maybe_unused]] Timeout end_timeout_;
  [[maybe_unused]] bool has_ended_ = false;
  int rank_ = 0;
  int size_ = 1;
  /// Until MPI has ended it reads from what is on its way, and writes into what has not arrived.
  std::unique_ptr<Link> link_;
};

/// The MPI library's own name and version, for provenance; "none" in a build without MPI.
[[nodiscard]] std::string mpi_library();

/// Returns name and version of an MPI library, which its own text begins with: "Open MPI v4.1.4,
/// package: ..." and "MPICH Version:\t4.0.2\n..." become "Open MPI v4.1.4" and "MPICH 4.0.2".
[[nodiscard]] std::string short_library_version(std::string_view text);

/// This rank's link over MPI, which has started.
[[nodiscard]] std::unique_ptr<Link> make_mpi_link(int size);

/// Throws RunError if a call of MPI has failed.
void check_mpi(int code, const char* call);

}  // namespace wallheat
