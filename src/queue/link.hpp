#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "core/codec.hpp"

namespace wallheat {

/// A received message and the rank that sent it.
struct Envelope {
  int from = 0;
  Bytes message;
};

/// Connection of one rank to the other ranks of a run. Rank 0 coordinates, the others work.
/// Messages are delivered in the order in which a sender sent them. Not thread-safe.
class Link {
 public:
  virtual ~Link() = default;
  /// Returns the number of ranks, including this one.
  [[nodiscard]] virtual int size() const = 0;
  /// Queues a message for sending. Never waits for the peer.
  virtual void send(int peer, Bytes message) = 0;
  /// Sends a heartbeat. Drops it if the peer has not received the previous one, because a peer that
  /// is stopped or dead would let heartbeats accumulate.
  virtual void send_heartbeat(int peer, Bytes message) { send(peer, std::move(message)); }
  /// Returns the next message from any rank; nullopt if none arrives within `timeout`. Sleeps while
  /// it waits.
  [[nodiscard]] virtual std::optional<Envelope> receive(std::chrono::microseconds timeout) = 0;
  /// Waits until all sent messages have left this process, for at most `timeout`.
  virtual void flush(std::chrono::milliseconds timeout) = 0;
};

/// Returns the links of `size` ranks that are threads of one process, by rank. Used by runs without
/// mpirun, and by tests.
[[nodiscard]] std::vector<std::unique_ptr<Link>> make_local_links(int size);

}  // namespace wallheat
