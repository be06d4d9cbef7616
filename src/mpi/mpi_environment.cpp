#include "mpi/mpi_environment.hpp"

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// Removes the files of this run that Open MPI leaves behind when a rank does not finalize:
// HOST.UID.JOB.RANK, 4 MiB each.
void remove_stale_shared_memory() {
  const char* job = std::getenv("OMPI_MCA_ess_base_jobid");
  if (job == nullptr) return;
  std::array<char, 64> middle{};
  std::snprintf(middle.data(), middle.size(), ".%u.%lx.", static_cast<unsigned>(::getuid()),
                std::strtoul(job, nullptr, 10));
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("vader_segment.") && name.find(middle.data()) != std::string::npos)
      std::filesystem::remove(file, error);  // fails if another rank has removed it
  }
}

/// Returns true if the parent of this process is mpirun itself, and not one of its daemons.
bool is_child_of_mpirun() {
  std::ifstream file("/proc/" + std::to_string(::getppid()) + "/comm");
  std::string name;
  std::getline(file, name);
  return name == "mpirun" || name == "orterun" || name == "mpiexec" || name == "prterun";
}

// Ends this process if a collective call takes too long.
class Watchdog {
 public:
  Watchdog(std::chrono::duration<double> timeout, const char* what, int status)
      : thread_([=](const std::stop_token& stop) {
          // Ranks exit one after the other, rank 0 first: the first exit ends a run under plain
          // mpirun, which sometimes hangs if several ranks exit at once.
          const auto longest = timeout * (1 + 0.25 * std::min(launched_rank(), 4));
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any().wait_for(lock, stop, longest, [] { return false; });
          if (!stop.stop_requested()) leave(longest, what, status);
        }) {}

 private:
  [[noreturn]] static void leave(std::chrono::duration<double> waited, const char* what,
                                 int status) {
    std::fprintf(stderr,
                 "wallheat: rank %d: exiting: MPI has not %s on all ranks after %.0f s: a rank or "
                 "its host may be down, or hosts may have the same address on an interface such "
                 "as docker0; exclude such interfaces, for example by "
                 "OMPI_MCA_btl_tcp_if_exclude=lo,docker0,virbr0\n",
                 launched_rank(), what, waited.count());
    remove_stale_shared_memory();
    if (recovery_enabled() && launched_rank() == 0 && is_child_of_mpirun())
      ::kill(::getppid(), SIGTERM);
    std::_Exit(status);
  }

  std::jthread thread_;
};

}  // namespace

MpiEnvironment::MpiEnvironment(Timeout start, Timeout end)
    : start_timeout_(start), end_timeout_(end) {
  const Watchdog watchdog(start_timeout_, "started", EXIT_FAILURE);
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw RunError("this MPI library does not support threads (MPI_THREAD_FUNNELED)");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  link_ = make_mpi_link(size_);
}

MpiEnvironment::~MpiEnvironment() {
  if (!has_ended_) (void)finalize(EXIT_FAILURE, true);
}

int MpiEnvironment::finalize(int status, bool all_are_there) {
  if (!all_are_there) exit_without_lost_ranks(status);
  has_ended_ = true;
  const Watchdog watchdog(end_timeout_, "ended", status);
  MPI_Finalize();
  return status;
}

std::map<int, Bytes> MpiEnvironment::gather_by_group(const std::string& group,
                                                     const Bytes& mine) const {
  const Watchdog watchdog(start_timeout_, "started", EXIT_FAILURE);
  const std::uint64_t own = std::hash<std::string>{}(group);
  std::vector<std::uint64_t> groups(static_cast<std::size_t>(size_));
  check_mpi(MPI_Allgather(&own, 1, MPI_UINT64_T, groups.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD),
            "MPI_Allgather");
  std::vector<int> ranks;
  for (std::size_t other = 0; other < groups.size(); ++other)
    if (groups[other] == own) ranks.push_back(static_cast<int>(other));
  MPI_Comm together = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, ranks.front(), rank_, &together), "MPI_Comm_split");
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(ranks.size());
  check_mpi(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, together),
            "MPI_Allgather");
  std::vector<int> begins(ranks.size() + 1);  // the last element is the total length
  std::partial_sum(lengths.begin(), lengths.end(), begins.begin() + 1);
  Bytes all(static_cast<std::size_t>(begins.back()));
  check_mpi(MPI_Allgatherv(mine.data(), length, MPI_BYTE, all.data(), lengths.data(), begins.data(),
                           MPI_BYTE, together),
            "MPI_Allgatherv");
  check_mpi(MPI_Comm_free(&together), "MPI_Comm_free");
  // Rank 0 leaves last. After that no rank waits for another one in a collective operation, so a
  // worker that is stopped or dies does not block the workers of its host.
  const char has_finished = 1;
  std::vector<char> finished(groups.size());
  check_mpi(MPI_Gather(&has_finished, 1, MPI_CHAR, finished.data(), 1, MPI_CHAR, 0, MPI_COMM_WORLD),
            "MPI_Gather");
  std::map<int, Bytes> messages;
  for (std::size_t k = 0; k < ranks.size(); ++k)
    messages[ranks[k]].assign(all.begin() + begins[k], all.begin() + begins[k + 1]);
  return messages;
}

void MpiEnvironment::exit_without_lost_ranks(int status) const {
  std::fflush(nullptr);
  remove_stale_shared_memory();
  if (rank_ != 0) {
    // If a worker exited first, plain mpirun would kill rank 0 before rank 0 has ended the run.
    if (!recovery_enabled()) std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(status);
  }
  // With --enable-recovery, mpirun does not end when ranks do, and MPI_Abort ends only its caller.
  if (!recovery_enabled()) MPI_Abort(MPI_COMM_WORLD, status);
  if (is_child_of_mpirun()) ::kill(::getppid(), SIGTERM);
  std::_Exit(status);
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  return short_library_version({text.data(), static_cast<std::size_t>(length)});
}

}  // namespace wallheat
