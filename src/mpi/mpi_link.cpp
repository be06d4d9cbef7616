#include <mpi.h>

#include <algorithm>
#include <array>
#include <list>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/mpi_environment.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw RunError(std::string(call) +
                 " failed: " + std::string(text.data(), static_cast<std::size_t>(length)));
}

namespace {

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
  check_mpi(MPI_Test(&transfer.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

class MpiLink final : public Link {
 public:
  explicit MpiLink(int size) : size_(size), heartbeats_(static_cast<std::size_t>(size)) {}
  [[nodiscard]] int size() const override { return size_; }

  void send(int peer, Bytes message) override {
    Transfer& sent = sent_.emplace_back(Transfer{peer, in_words(std::move(message))});
    check_mpi(MPI_Isend(sent.message.data(), words_in(sent.message), MPI_UINT64_T, peer, 0,
                        MPI_COMM_WORLD, &sent.request),
              "MPI_Isend");
  }

  void send_heartbeat(int peer, Bytes message) override {
    Transfer& last = heartbeats_[static_cast<std::size_t>(peer)];
    if (!is_done(last)) return;
    last.message = in_words(std::move(message));
    // A synchronous send is done when the peer has taken it, not when MPI has put it away: all
    // peers of a host share the room for that.
    check_mpi(MPI_Issend(last.message.data(), words_in(last.message), MPI_UINT64_T, peer, 0,
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
        pause_ = min_pause;
        return envelope;
      }
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
          deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return std::nullopt;
      std::this_thread::sleep_for(std::min(pause_, left));
      pause_ = std::min(pause_ * 2, 100 * min_pause);
    }
  }

  void flush(std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (forget_sent(); !sent_.empty() && std::chrono::steady_clock::now() < deadline;
         forget_sent())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  static constexpr std::chrono::microseconds min_pause{20};

  /// Looks at a few each time, as dead peers may leave many that never go, and each look takes
  /// time.
  void forget_sent() {
    constexpr std::size_t max_polls = 16;
    for (std::size_t k = std::min(sent_.size(), max_polls); k > 0; --k) {
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
      check_mpi(MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &announced, &handle, &status),
                "MPI_Improbe");
      if (announced == 0) return;
      int words = 0;
      check_mpi(MPI_Get_count(&status, MPI_UINT64_T, &words), "MPI_Get_count");
      Transfer& coming = incoming_.emplace_back(
          Transfer{status.MPI_SOURCE, Bytes(static_cast<std::size_t>(words) * 8)});
      check_mpi(MPI_Imrecv(coming.message.data(), words, MPI_UINT64_T, &handle, &coming.request),
                "MPI_Imrecv");
      // One that is complete is enough for now, so that many small ones make no long list.
      if (incoming_.size() == 1 && is_done(coming)) return;
    }
  }

  /// The first message that is complete, in the order of its sender.
  std::optional<Envelope> take_arrived() {
    std::set<int> held_up;  // behind a message that has not arrived
    for (auto next = incoming_.begin(); next != incoming_.end(); ++next) {
      if (held_up.contains(next->peer) || !is_done(*next)) {
        held_up.insert(next->peer);
        continue;
      }
      Envelope envelope{next->peer, std::move(next->message)};
      incoming_.erase(next);
      const auto fill = std::to_integer<std::ptrdiff_t>(envelope.message.back());
      envelope.message.erase(envelope.message.end() - fill, envelope.message.end());
      return envelope;
    }
    return std::nullopt;
  }

  int size_;
  std::list<Transfer> sent_;          // and not yet gone
  std::vector<Transfer> heartbeats_;  // the last to each peer
  std::list<Transfer> incoming_;      // in the order in which they were announced
  // It goes on from call to call: frequent looks for nothing must not begin with the shortest each
  // time.
  std::chrono::microseconds pause_ = min_pause;
};

}  // namespace

std::unique_ptr<Link> make_mpi_link(int size) { return std::make_unique<MpiLink>(size); }

}  // namespace wallheat
