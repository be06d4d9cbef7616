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

/// Pads a message to words of 8 bytes: the counts of MPI are of type int, which is large enough for
/// every message if words are counted. The last byte contains the number of bytes that were added.
Bytes in_words(Bytes message) {
  const std::size_t fill = 8 - message.size() % 8;
  message.insert(message.end(), fill, static_cast<std::byte>(fill));
  return message;
}
int words_in(const Bytes& message) { return static_cast<int>(message.size() / 8); }

/// A message in flight, to a peer or from it.
struct Transfer {
  int peer = 0;
  Bytes message;  ///< padded to words
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
    // A synchronous send completes when the peer has received the message, not when MPI has
    // buffered it: the buffers are shared by all peers of a host.
    check_mpi(MPI_Issend(last.message.data(), words_in(last.message), MPI_UINT64_T, peer, 0,
                         MPI_COMM_WORLD, &last.request),
              "MPI_Issend");
  }

  std::optional<Envelope> receive(std::chrono::microseconds timeout) override {
    // The waiting calls of MPI spin. A rank that waits here sleeps instead: briefly at first, so
    // that a frequent exchange is fast, and at most 2 ms, so that polling an idle link costs next
    // to nothing.
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

  /// Removes completed messages from `sent_`. Polls a few messages per call, because dead peers may
  /// leave many messages that never complete, and each poll takes time.
  void forget_sent() {
    constexpr std::size_t max_polls = 16;
    for (std::size_t k = std::min(sent_.size(), max_polls); k > 0; --k) {
      if (is_done(sent_.front()))
        sent_.pop_front();
      else
        sent_.splice(sent_.end(), sent_, sent_.begin());
    }
  }

  /// Starts to receive the announced messages. Never waits for one of them: a sender may be killed
  /// or stopped in the middle of a message.
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
      // One complete message is enough for now, so that many small messages do not make a long
      // list.
      if (incoming_.size() == 1 && is_done(coming)) return;
    }
  }

  /// Returns the first message that is complete; messages of one sender stay in order.
  std::optional<Envelope> take_arrived() {
    std::set<int> held_up;  // peers with an earlier incomplete message
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
  std::list<Transfer> sent_;          // not yet completed
  std::vector<Transfer> heartbeats_;  // the last heartbeat to each peer
  std::list<Transfer> incoming_;      // in the order of their announcements
  // Kept from call to call: frequent calls that receive nothing must not start with the shortest
  // pause each time.
  std::chrono::microseconds pause_ = min_pause;
};

}  // namespace

std::unique_ptr<Link> make_mpi_link(int size) { return std::make_unique<MpiLink>(size); }

}  // namespace wallheat
