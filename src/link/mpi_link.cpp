#include "link/mpi_link.hpp"

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
#include <limits>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw RunError(std::string(call) +
                 " failed: " + std::string(text.data(), static_cast<std::size_t>(length)));
}

constexpr int tag = 1;

// MPI's own waiting calls spin. A rank that waits here sleeps instead, briefly at first so that a
// lively exchange stays fast, at most two milliseconds so that a quiet one costs next to nothing.
class Backoff {
 public:
  void sleep(std::chrono::microseconds at_most) {
    std::this_thread::sleep_for(std::min(pause_, at_most));
    pause_ = std::min(pause_ * 2, longest);
  }
  void reset() { pause_ = shortest; }

 private:
  static constexpr std::chrono::microseconds shortest{20};
  static constexpr std::chrono::microseconds longest{2000};
  std::chrono::microseconds pause_ = shortest;
};

class MpiLink final : public Link {
 public:
  MpiLink() {
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int peer, Bytes message) override {
    if (message.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw RunError("a message of " + std::to_string(message.size()) +
                     " bytes is more than MPI can send");
    }
    // The buffer must stay where it is until MPI is done with it: a list never moves its items.
    Outgoing& outgoing = outgoing_.emplace_back();
    outgoing.message = std::move(message);
    check(MPI_Isend(outgoing.message.data(), static_cast<int>(outgoing.message.size()), MPI_BYTE,
                    peer, tag, MPI_COMM_WORLD, &outgoing.request),
          "MPI_Isend");
  }

  std::optional<Envelope> receive(std::chrono::microseconds patience) override {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
      forget_sent();
      if (auto envelope = receive_now()) {
        backoff_.reset();
        return envelope;
      }
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
          deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return std::nullopt;
      backoff_.sleep(left);
    }
  }

  void flush(std::chrono::milliseconds patience) override {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    forget_sent();
    for (Backoff backoff; !outgoing_.empty() && std::chrono::steady_clock::now() < deadline;
         forget_sent()) {
      backoff.sleep(std::chrono::microseconds{1000});
    }
  }

 private:
  struct Outgoing {
    Bytes message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void forget_sent() {
    std::erase_if(outgoing_, [](Outgoing& outgoing) {
      int done = 0;
      check(MPI_Test(&outgoing.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
  }

  std::optional<Envelope> receive_now() {
    int arrived = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &arrived, &handle, &status),
          "MPI_Improbe");
    if (arrived == 0) return std::nullopt;
    int size = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
    Envelope envelope{status.MPI_SOURCE, Bytes(static_cast<std::size_t>(size))};
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Imrecv(envelope.message.data(), size, MPI_BYTE, &handle, &request), "MPI_Imrecv");
    int done = 0;
    for (Backoff backoff; done == 0;) {
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) backoff.sleep(std::chrono::microseconds{1000});
    }
    return envelope;
  }

  int rank_ = 0;
  int size_ = 1;
  std::list<Outgoing> outgoing_;
  Backoff backoff_;  // over all calls: who looks often for nothing must not begin anew each time
};

// Set by Open MPI's mpirun, by PMIx launchers (srun --mpi=pmix) and by PMI launchers (MPICH, srun).
constexpr std::array rank_variables{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

const char* launched_rank_text() {
  for (const char* name : rank_variables) {
    if (const char* text = std::getenv(name)) return text;
  }
  return nullptr;
}

// Open MPI leaves these files behind when a rank does not finalize: HOST.UID.JOB.RANK, 4 MiB each.
void remove_shared_memory_of_this_run() {
  const char* job = std::getenv("OMPI_MCA_ess_base_jobid");
  if (job == nullptr) return;
  std::array<char, 64> middle{};
  std::snprintf(middle.data(), middle.size(), ".%u.%lx.", static_cast<unsigned>(::getuid()),
                std::strtoul(job, nullptr, 10));
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("vader_segment.") && name.find(middle.data()) != std::string::npos)
      std::filesystem::remove(file, error);  // another rank may have been faster
  }
}

/// True where mpirun (of Open MPI 4) was told not to end the run when a rank ends.
bool survives_deaths() { return std::getenv("OMPI_MCA_orte_enable_recovery") != nullptr; }

/// True where the parent of this process is mpirun itself, not one of its daemons.
bool is_child_of_mpirun() {
  std::ifstream file("/proc/" + std::to_string(::getppid()) + "/comm");
  std::string name;
  std::getline(file, name);
  return name == "mpirun" || name == "orterun" || name == "mpiexec" || name == "prterun";
}

// Ends this process when a call that waits for all ranks takes too long.
class Watch {
 public:
  Watch(std::chrono::duration<double> patience, const char* what, int status)
      : thread_([=](const std::stop_token& stop) {
          // One after the other, rank 0 first: the first to leave is the end of a run under plain
          // mpirun, which at times hangs itself where several leave at once.
          const auto longest = patience * (1 + 0.25 * std::min(launched_rank(), 4));
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any().wait_for(lock, stop, longest, [] { return false; });
          if (!stop.stop_requested()) leave(longest, what, status);
        }) {}

 private:
  [[noreturn]] static void leave(std::chrono::duration<double> waited, const char* what,
                                 int status) {
    std::fprintf(
        stderr,
        "wallheat: rank %d leaves, as MPI has not %s in all ranks for %.0f s: one of them or "
        "its host may be lost or stopped\n",
        launched_rank(), what, waited.count());
    remove_shared_memory_of_this_run();
    if (survives_deaths() && launched_rank() == 0 && is_child_of_mpirun())
      ::kill(::getppid(), SIGTERM);
    std::_Exit(status);
  }

  std::jthread thread_;
};

}  // namespace

bool launched_by_mpi() { return launched_rank_text() != nullptr; }

int launched_rank() {
  const char* text = launched_rank_text();
  return text != nullptr ? std::atoi(text) : 0;
}

MpiSession::MpiSession(std::chrono::duration<double> patience) : patience_(patience) {
  const Watch watch(patience_, "started", EXIT_FAILURE);
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw RunError("this MPI library cannot be used beside threads");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

MpiSession::~MpiSession() { end(EXIT_FAILURE); }

void MpiSession::end(int status) {
  if (std::exchange(ended_, true)) return;
  const Watch watch(patience_, "ended", status);
  MPI_Finalize();
}

int MpiSession::rank() const {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return rank;
}

int MpiSession::size() const {
  int size = 1;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size;
}

std::unique_ptr<Link> MpiSession::link() { return std::make_unique<MpiLink>(); }

void MpiSession::leave_without_the_lost(int status) {
  std::fflush(nullptr);
  remove_shared_memory_of_this_run();
  if (rank() != 0) {
    // Whoever leaves first would have plain mpirun kill rank 0 before it has ended the run.
    if (!survives_deaths()) std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(status);
  }
  // With --enable-recovery mpirun does not end when ranks do, and MPI_Abort ends but the caller.
  if (!survives_deaths()) MPI_Abort(MPI_COMM_WORLD, status);
  if (is_child_of_mpirun()) ::kill(::getppid(), SIGTERM);
  std::_Exit(status);
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace wallheat
