#include "link/mpi_link.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <list>
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

}  // namespace

bool launched_by_mpi() { return launched_rank_text() != nullptr; }

int launched_rank() {
  const char* text = launched_rank_text();
  return text != nullptr ? std::atoi(text) : 0;
}

MpiSession::MpiSession() {
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw RunError("this MPI library cannot be used beside threads");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

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

void MpiSession::abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::abort();  // MPI_Abort is not declared to stay away
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace wallheat
