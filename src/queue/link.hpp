#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "core/codec.hpp"

namespace wallheat {

struct Envelope {
  int from = 0;
  Bytes message;
};

/// One rank's connection to the others. Rank 0 coordinates, the others work. Used by one thread.
class Link {
 public:
  virtual ~Link() = default;
  [[nodiscard]] virtual int size() const = 0;
  /// Hands a message over; never waits for the peer.
  virtual void send(int peer, Bytes message) = 0;
  /// The same for a message that says little more than that its sender lives. It is left out as
  /// long as the peer, which may be stopped or dead, has not taken the one before.
  virtual void send_heartbeat(int peer, Bytes message) { send(peer, std::move(message)); }
  /// The next message from anyone, in order per sender; nothing if none comes within `timeout`.
  /// Sleeps while it waits.
  [[nodiscard]] virtual std::optional<Envelope> receive(std::chrono::microseconds timeout) = 0;
  /// Waits until everything sent has left this process, but no longer than `timeout`.
  virtual void flush(std::chrono::milliseconds timeout) = 0;
};

/// Links of ranks that are threads of one process, by rank: the single-process run, and tests.
[[nodiscard]] std::vector<std::unique_ptr<Link>> make_local_links(int size);

}  // namespace wallheat
