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
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
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

// A message that is longer than MPI can send at once travels in pieces: the last one has another
// tag. MPI keeps the order of what one rank sends to another, whatever the tags.
constexpr int piece_tag = 1;
constexpr int last_piece_tag = 2;

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
  MpiLink(std::size_t longest_piece, const std::vector<std::uint64_t>& systems)
      : longest_piece_(longest_piece), systems_(systems) {
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    signs_of_life_.resize(static_cast<std::size_t>(size_));
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::uint64_t system_of(int rank) const override {
    return systems_[static_cast<std::size_t>(rank)];
  }

  void send(int peer, Bytes message) override {
    const auto kept = std::make_shared<const Bytes>(std::move(message));
    std::span<const std::byte> rest(*kept);
    do {
      const auto piece = rest.first(std::min(rest.size(), longest_piece_));
      rest = rest.subspan(piece.size());
      check(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, peer,
                      rest.empty() ? last_piece_tag : piece_tag, MPI_COMM_WORLD,
                      &requests_.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Isend");
      sent_.push_back(kept);
    } while (!rest.empty());
  }

  void send_sign_of_life(int peer, Bytes message) override {
    SignOfLife& last = signs_of_life_[static_cast<std::size_t>(peer)];
    if (!is_taken(last)) return;
    last.message = std::move(message);
    // A synchronous send is done when the peer has taken it, and not when MPI has put it away: the
    // room for that is shared by all peers of a host.
    check(MPI_Issend(last.message.data(), static_cast<int>(last.message.size()), MPI_BYTE, peer,
                     last_piece_tag, MPI_COMM_WORLD, &last.request),
          "MPI_Issend");
  }

  std::optional<Envelope> receive(std::chrono::microseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      forget_sent();
      accept_announced();
      if (auto envelope = take_arrived()) {
        backoff_.reset();
        return envelope;
      }
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
          deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return std::nullopt;
      backoff_.sleep(left);
    }
  }

  void flush(std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    forget_sent();
    for (Backoff backoff; !requests_.empty() && std::chrono::steady_clock::now() < deadline;
         forget_sent()) {
      backoff.sleep(std::chrono::microseconds{1000});
    }
    for (SignOfLife& each : signs_of_life_) (void)is_taken(each);
  }

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct SignOfLife {
    Bytes message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  static bool is_taken(SignOfLife& sign) {
    int done = 0;
    check(MPI_Test(&sign.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }

  /// A piece of a message that a peer has announced. Its sender may be killed or stopped in the
  /// middle; then it never arrives, and whatever the sender says later waits behind it.
  struct Incoming {
    int from = 0;
    bool is_last = false;
    int size = 0;
    MPI_Message announced = MPI_MESSAGE_NULL;  ///< until it is given room
    SteadyClock::time_point begun;             ///< when that was
    Bytes piece;
    MPI_Request request = MPI_REQUEST_NULL;
    bool arrived = false;
  };

  /// Looks at some of those that MPI is at, in turn: what peers that are dead never take must not
  /// be looked at whenever something is said.
  void forget_sent() {
    constexpr std::size_t most_looks = 64;
    if (requests_.empty()) return;
    if (next_look_ >= requests_.size()) next_look_ = 0;
    const std::size_t looks = std::min(most_looks, requests_.size() - next_look_);
    std::array<int, most_looks> which{};
    int count = 0;
    check(MPI_Testsome(static_cast<int>(looks), &requests_[next_look_], &count, which.data(),
                       MPI_STATUSES_IGNORE),
          "MPI_Testsome");
    const auto done = std::span(which).first(static_cast<std::size_t>(std::max(count, 0)));
    std::sort(done.rbegin(), done.rend());  // so that the last takes the place of one that is done
    for (const int place : done) {
      const std::size_t at = next_look_ + static_cast<std::size_t>(place);
      requests_[at] = requests_.back();
      requests_.pop_back();
      sent_[at] = std::move(sent_.back());
      sent_.pop_back();
    }
    next_look_ += looks;
  }

  /// Takes note of what has been announced, and gives room to what is small. Never waits for any
  /// of it.
  void accept_announced() {
    constexpr int small_bytes = 64 << 10;
    for (;;) {
      int announced = 0;
      MPI_Message handle = MPI_MESSAGE_NULL;
      MPI_Status status;
      check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &announced, &handle, &status),
            "MPI_Improbe");
      if (announced == 0) return give_room();
      Incoming& incoming = incoming_.emplace_back();
      incoming.from = status.MPI_SOURCE;
      incoming.is_last = status.MPI_TAG == last_piece_tag;
      incoming.announced = handle;
      check(MPI_Get_count(&status, MPI_BYTE, &incoming.size), "MPI_Get_count");
      if (incoming.size <= small_bytes) begin(incoming);
      // One is enough for now, if it is there: many small ones need no list.
      if (incoming_.size() == 1 && has_arrived(incoming)) return;
    }
  }

  /// To large pieces, in the order of their announcement, as long as those under way are not too
  /// much. The others stay where they are: with their senders.
  void give_room() {
    constexpr std::size_t most_bytes = std::size_t{256} << 20;
    // Whoever has sent nothing more for so long is dead or stopped, and must not hold up others.
    constexpr std::chrono::seconds timeout{60};
    std::size_t bytes = 0;
    for (Incoming& incoming : incoming_) {
      const auto size = static_cast<std::size_t>(incoming.size);
      if (incoming.announced == MPI_MESSAGE_NULL) {
        if (SteadyClock::now() - incoming.begun < timeout) bytes += size;
      } else if (bytes == 0 || bytes + size <= most_bytes) {
        begin(incoming);
        bytes += size;
      }
    }
  }

  static void begin(Incoming& incoming) {
    incoming.begun = SteadyClock::now();
    incoming.piece.resize(static_cast<std::size_t>(incoming.size));
    check(MPI_Imrecv(incoming.piece.data(), incoming.size, MPI_BYTE, &incoming.announced,
                     &incoming.request),
          "MPI_Imrecv");
  }

  static bool has_arrived(Incoming& incoming) {
    if (!incoming.arrived && incoming.announced == MPI_MESSAGE_NULL) {
      int done = 0;
      check(MPI_Test(&incoming.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      incoming.arrived = done != 0;
    }
    return incoming.arrived;
  }

  /// The first message that is complete, in the order of its sender.
  std::optional<Envelope> take_arrived() {
    std::set<int> held_up;  // behind a piece that has not arrived
    for (auto next = incoming_.begin(); next != incoming_.end();) {
      const int from = next->from;
      if (held_up.contains(from) || !has_arrived(*next)) {
        held_up.insert(from);
        ++next;
        continue;
      }
      Incoming incoming = std::move(*next);
      next = incoming_.erase(next);
      const auto begun = begun_.find(from);
      if (begun == begun_.end() && incoming.is_last)
        return Envelope{from, std::move(incoming.piece)};
      Bytes& message = begun_[from];
      message.insert(message.end(), incoming.piece.begin(), incoming.piece.end());
      if (!incoming.is_last) continue;
      Envelope envelope{from, std::move(message)};
      begun_.erase(from);
      return envelope;
    }
    return std::nullopt;
  }

  int rank_ = 0;
  int size_ = 1;
  std::size_t longest_piece_;
  const std::vector<std::uint64_t>& systems_;
  std::vector<MPI_Request> requests_;               // of what is being sent, a piece each
  std::vector<std::shared_ptr<const Bytes>> sent_;  // the message of each of them
  std::size_t next_look_ = 0;                       // in them
  std::vector<SignOfLife> signs_of_life_;           // by peer
  std::list<Incoming> incoming_;                    // in the order in which they were announced
  std::map<int, Bytes> begun_;  // by sender: the pieces so far of a message in several
  Backoff backoff_;  // over all calls: who looks often for nothing must not begin anew each time
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

/// Of the number that Linux draws at each start, as Machine::system is; of the host's name where
/// that is hidden.
std::uint64_t system_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  std::getline(file, name);
  if (name.empty()) {
    std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
    int length = 0;
    check(MPI_Get_processor_name(text.data(), &length), "MPI_Get_processor_name");
    name.assign(text.data(), static_cast<std::size_t>(length));
  }
  return std::hash<std::string>{}(name);
}

/// True where the parent of this process is mpirun itself, not one of its daemons.
bool is_child_of_mpirun() {
  std::ifstream file("/proc/" + std::to_string(::getppid()) + "/comm");
  std::string name;
  std::getline(file, name);
  return name == "mpirun" || name == "orterun" || name == "mpiexec" || name == "prterun";
}

// Ends this process when a call that waits for all ranks takes too long.
class Watchdog {
 public:
  Watchdog(std::chrono::duration<double> timeout, const char* what, int status)
      : thread_([=](const std::stop_token& stop) {
          // One after the other, rank 0 first: the first to leave is the end of a run under plain
          // mpirun, which at times hangs itself where several leave at once.
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
  // As all ranks are here, who shares a system is known of those, too, that are never heard again.
  const std::uint64_t mine = system_number();
  systems_.resize(static_cast<std::size_t>(size()));
  check(MPI_Allgather(&mine, 1, MPI_UINT64_T, systems_.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD),
        "MPI_Allgather");
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

Link& MpiSession::link(std::size_t longest_piece) {
  if (!link_) link_ = std::make_unique<MpiLink>(longest_piece, systems_);
  return *link_;
}

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
