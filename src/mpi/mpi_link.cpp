#include "mpi/mpi_link.hpp"

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
#include <list>
#include <mutex>
#include <numeric>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

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

/// MPI counts with int, which is enough for any message if it counts words of 8 bytes. The last
/// byte says how many bytes were added to fill the last word.
Bytes in_words(Bytes message) {
  const std::size_t fill = 8 - message.size() % 8;
  message.insert(message.end(), fill, static_cast<std::byte>(fill));
  return message;
}
int words_in(const Bytes& message) { return static_cast<int>(message.size() / 8); }

/// A message on its way, to a peer or from it.
struct Transfer {
  int peer = 0;
  Bytes message;  ///< in words
  MPI_Request request = MPI_REQUEST_NULL;
};
bool is_done(Transfer& transfer) {
  int done = 0;
  check(MPI_Test(&transfer.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

class MpiLink final : public Link {
 public:
  explicit MpiLink(int size) : size_(size), signs_of_life_(static_cast<std::size_t>(size)) {}
  [[nodiscard]] int size() const override { return size_; }

  void send(int peer, Bytes message) override {
    Transfer& sent = sent_.emplace_back(Transfer{peer, in_words(std::move(message))});
    check(MPI_Isend(sent.message.data(), words_in(sent.message), MPI_UINT64_T, peer, 0,
                    MPI_COMM_WORLD, &sent.request),
          "MPI_Isend");
  }

  void send_sign_of_life(int peer, Bytes message) override {
    Transfer& last = signs_of_life_[static_cast<std::size_t>(peer)];
    if (!is_done(last)) return;
    last.message = in_words(std::move(message));
    // A synchronous send is done when the peer has taken it, not when MPI has put it away: all
    // peers of a host share the room for that.
    check(MPI_Issend(last.message.data(), words_in(last.message), MPI_UINT64_T, peer, 0,
                     MPI_COMM_WORLD, &last.request),
          "MPI_Issend");
  }

  std::optional<Envelope> receive(std::chrono::microseconds timeout) override {
    // MPI's own waiting calls spin. A rank that waits here sleeps instead, briefly at first so that
    // a lively exchange stays fast, at most two milliseconds so that a quiet one costs next to
    // nothing.
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      forget_sent();
      accept_announced();
      if (auto envelope = take_arrived()) {
        pause_ = shortest_pause;
        return envelope;
      }
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
          deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return std::nullopt;
      std::this_thread::sleep_for(std::min(pause_, left));
      pause_ = std::min(pause_ * 2, 100 * shortest_pause);
    }
  }

  void flush(std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (forget_sent(); !sent_.empty() && std::chrono::steady_clock::now() < deadline;
         forget_sent())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  static constexpr std::chrono::microseconds shortest_pause{20};

  /// Looks at a few each time, as dead peers may leave many that never go, and each look takes
  /// time.
  void forget_sent() {
    constexpr std::size_t most_looks = 16;
    for (std::size_t k = std::min(sent_.size(), most_looks); k > 0; --k) {
      if (is_done(sent_.front()))
        sent_.pop_front();
      else
        sent_.splice(sent_.end(), sent_, sent_.begin());
    }
  }

  /// Begins to take what has been announced. Never waits for any of it: a sender may be killed or
  /// stopped in the middle of a message.
  void accept_announced() {
    for (;;) {
      int announced = 0;
      MPI_Message handle = MPI_MESSAGE_NULL;
      MPI_Status status;
      check(MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &announced, &handle, &status),
            "MPI_Improbe");
      if (announced == 0) return;
      int words = 0;
      check(MPI_Get_count(&status, MPI_UINT64_T, &words), "MPI_Get_count");
      Transfer& coming = coming_.emplace_back(
          Transfer{status.MPI_SOURCE, Bytes(static_cast<std::size_t>(words) * 8)});
      check(MPI_Imrecv(coming.message.data(), words, MPI_UINT64_T, &handle, &coming.request),
            "MPI_Imrecv");
      // One that is complete is enough for now, so that many small ones make no long list.
      if (coming_.size() == 1 && is_done(coming)) return;
    }
  }

  /// The first message that is complete, in the order of its sender.
  std::optional<Envelope> take_arrived() {
    std::set<int> held_up;  // behind a message that has not arrived
    for (auto next = coming_.begin(); next != coming_.end(); ++next) {
      if (held_up.contains(next->peer) || !is_done(*next)) {
        held_up.insert(next->peer);
        continue;
      }
      Envelope envelope{next->peer, std::move(next->message)};
      coming_.erase(next);
      const auto fill = std::to_integer<std::ptrdiff_t>(envelope.message.back());
      envelope.message.erase(envelope.message.end() - fill, envelope.message.end());
      return envelope;
    }
    return std::nullopt;
  }

  int size_;
  std::list<Transfer> sent_;             // and not yet gone
  std::vector<Transfer> signs_of_life_;  // the last to each peer
  std::list<Transfer> coming_;           // in the order in which they were announced
  // It goes on from call to call: frequent looks for nothing must not begin with the shortest each
  // time.
  std::chrono::microseconds pause_ = shortest_pause;
};

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

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// A hash of the number that Linux draws at each start, as Machine::system is; of the host's name
/// if that is hidden.
std::uint64_t system_number() {
  std::string name = first_line("/proc/sys/kernel/random/boot_id");
  if (name.empty()) {
    std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
    int length = 0;
    check(MPI_Get_processor_name(text.data(), &length), "MPI_Get_processor_name");
    name.assign(text.data(), static_cast<std::size_t>(length));
  }
  return std::hash<std::string>{}(name);
}

/// True if the parent of this process is mpirun itself, not one of its daemons.
bool is_child_of_mpirun() {
  const std::string name = first_line("/proc/" + std::to_string(::getppid()) + "/comm");
  return name == "mpirun" || name == "orterun" || name == "mpiexec" || name == "prterun";
}

// Ends this process when a call that waits for all ranks takes too long.
class Watchdog {
 public:
  Watchdog(std::chrono::duration<double> timeout, const char* what, int status)
      : thread_([=](const std::stop_token& stop) {
          // Ranks leave one after the other, rank 0 first: the first to leave ends a run under
          // plain mpirun, which sometimes hangs if several leave at once.
          const auto longest = timeout * (1 + 0.25 * std::min(launched_rank(), 4));
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

MpiSession::MpiSession(std::chrono::duration<double> timeout) : timeout_(timeout) {
  const Watchdog watchdog(timeout_, "started", EXIT_FAILURE);
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw RunError("this MPI library cannot be used beside threads");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

MpiSession::~MpiSession() { end(EXIT_FAILURE); }

void MpiSession::end(int status) {
  if (std::exchange(ended_, true)) return;
  const Watchdog watchdog(timeout_, "ended", status);
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

std::map<int, Bytes> MpiSession::gather_on_host(const Bytes& mine) const {
  const Watchdog watchdog(timeout_, "started", EXIT_FAILURE);
  const std::uint64_t here = system_number();
  std::vector<std::uint64_t> systems(static_cast<std::size_t>(size()));
  check(MPI_Allgather(&here, 1, MPI_UINT64_T, systems.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD),
        "MPI_Allgather");
  std::vector<int> ranks;
  for (std::size_t other = 0; other < systems.size(); ++other)
    if (systems[other] == here) ranks.push_back(static_cast<int>(other));
  MPI_Comm host = MPI_COMM_NULL;
  check(MPI_Comm_split(MPI_COMM_WORLD, ranks.front(), rank(), &host), "MPI_Comm_split");
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(ranks.size());
  check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, host), "MPI_Allgather");
  std::vector<int> begins(ranks.size() + 1);  // the last is the end of all
  std::partial_sum(lengths.begin(), lengths.end(), begins.begin() + 1);
  Bytes all(static_cast<std::size_t>(begins.back()));
  check(MPI_Allgatherv(mine.data(), length, MPI_BYTE, all.data(), lengths.data(), begins.data(),
                       MPI_BYTE, host),
        "MPI_Allgatherv");
  check(MPI_Comm_free(&host), "MPI_Comm_free");
  std::map<int, Bytes> said;
  for (std::size_t k = 0; k < ranks.size(); ++k)
    said[ranks[k]].assign(all.begin() + begins[k], all.begin() + begins[k + 1]);
  return said;
}

Link& MpiSession::link() {
  if (!link_) link_ = std::make_unique<MpiLink>(size());
  return *link_;
}

void MpiSession::leave_without_the_lost(int status) {
  std::fflush(nullptr);
  remove_shared_memory_of_this_run();
  if (rank() != 0) {
    // A worker that left first would make plain mpirun kill rank 0 before that has ended the run.
    if (!survives_deaths()) std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(status);
  }
  // With --enable-recovery mpirun does not end when ranks do, and MPI_Abort ends only the caller.
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
