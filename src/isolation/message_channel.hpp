#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>

#include "core/codec.hpp"
#include "core/input_file.hpp"
#include "core/members.hpp"
#include "queue/agent.hpp"

namespace wallheat {

// The protocol between a worker and a solver process. They exchange messages over a stream socket,
// which is the stdin of the solver process.
//
//   worker                         solver process
//   ProcessConfig     ----->       opens the device
//                     <-----       ProcessReady, or ProcessExit if that failed
//   Task              ----->       solves the plan; several tasks may be in flight
//                     <-----       TaskResult, or SourceOutage
//                     <-----       ProcessExit if it cannot continue
//   (end of file)     ----->       ends the program of a solver command, and exits
//
// The progress of the plans is not sent. It is stored in memory that both processes share, so that
// the worker can read it even if the solver process is blocked or dead.

/// First message to a solver process.
struct ProcessConfig {
  int progress_fd = -1;     ///< file descriptor of its ProgressPage
  std::int32_t thread = 0;  ///< number of its first slot among the slots of the worker
  Bytes settings{};         ///< encoded SolveConfig
};
WALLHEAT_MEMBERS(ProcessConfig, progress_fd, thread, settings);
using FromProcess = std::variant<ProcessReady, TaskResult, SourceOutage, ProcessExit>;

/// Progress of the plan in a slot. The solver process writes it, the worker reads it. The alignment
/// keeps slots in different cache lines.
struct alignas(64) SlotProgress {
  static constexpr QueueIndex no_plan{std::numeric_limits<std::uint32_t>::max()};
  /// It is written last, with release order, when a plan starts.
  std::atomic<QueueIndex> plan = no_plan;
  std::atomic<std::int64_t> iterations = 0;
  std::atomic<double> delta = 0;  ///< °C
};
/// Shared memory of a worker and a solver process. Its size is the maximum number of slots per
/// process; no device needs more to be busy.
using ProgressPage = std::array<SlotProgress, 128>;

/// One end of a stream socket that carries messages.
class MessageChannel {
 public:
  explicit MessageChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// Sends a message, and blocks until the socket has accepted all of it. Returns false if the peer
  /// has closed the connection.
  [[nodiscard]] bool send(std::span<const std::byte> message);
  /// Adds a message to the output, and sends as much of the output as the socket accepts without
  /// blocking. Call flush() while has_output().
  void enqueue(std::span<const std::byte> message);
  /// Sends as much of the output as the socket accepts without blocking. Drops the output if the
  /// peer has closed the connection.
  void flush();
  [[nodiscard]] bool has_output() const { return !output_.empty(); }

  /// Removes the next message from the bytes that were read, and returns it. Returns nullopt if it
  /// is not complete yet. Throws DecodeError if the bytes are not a message.
  [[nodiscard]] std::optional<Bytes> next();
  /// Reads the bytes that are available; blocks until there is at least one. Returns false if the
  /// peer has closed the connection.
  [[nodiscard]] bool read();
  /// Returns true if next() has left the beginning of a message.
  [[nodiscard]] bool has_incomplete_message() const { return !input_.empty(); }
  /// Waits for the next message. Returns nullopt if the peer has closed the connection. Throws
  /// DecodeError like next().
  [[nodiscard]] std::optional<Bytes> receive();

  /// File descriptor for poll().
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
  Bytes input_;
  Bytes output_;  ///< enqueued messages that the socket has not accepted yet
};

}  // namespace wallheat
