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
#include "queue/agent.hpp"

namespace wallheat {

// What a worker and a solver process say to each other, over a socket that is the process's stdin.
// The process gets a ProcessConfig, and then a Task for each lane, or some more; it says
// FromProcess, and leaves when the socket is closed. How far its plans are stands in a page of
// memory that both have.

/// The first message to a process.
struct ProcessConfig {
  int progress_fd = -1;     ///< file descriptor of its ProgressPage
  std::int32_t thread = 0;  ///< the worker's number of its first lane
  Bytes settings{};         ///< SolveConfig
  static void fields(auto& visit, auto& self) {
    visit(self.progress_fd, self.thread, self.settings);
  }
};
using FromProcess = std::variant<ProcessReady, TaskResult, SourceOutage, ProcessExit>;

/// How far the plan at a lane is. Written by the process, read by the worker.
struct alignas(64) SlotProgress {
  static constexpr std::uint32_t no_plan = std::numeric_limits<std::uint32_t>::max();
  std::atomic<std::uint32_t> plan = no_plan;  ///< set after the others of a plan are
  std::atomic<std::int64_t> iterations = 0;
  std::atomic<double> delta = 0;
};
/// A process finds out how many lanes its device likes to have. No device likes more.
using ProgressPage = std::array<SlotProgress, 128>;

/// One end of a stream socket that carries messages.
class MessageChannel {
 public:
  explicit MessageChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// Sends a message, and blocks until the socket has taken all of it. Returns false if the other
  /// side is gone.
  [[nodiscard]] bool send(std::span<const std::byte> message);
  /// Adds a message to the output, and sends as much of the output as the socket takes now. Call
  /// flush() until nothing is left.
  void enqueue(std::span<const std::byte> message);
  /// Sends as much of the output as the socket takes now. If the other side is gone, drops the
  /// output.
  void flush();
  [[nodiscard]] bool has_output() const { return !output_.empty(); }

  /// Takes the next message off what was read. Throws DecodeError if it is none.
  [[nodiscard]] std::optional<Bytes> next();
  /// Reads what there is, at least a byte. Returns false if the other side is gone. Throws
  /// DecodeError if it went in the middle of a message.
  [[nodiscard]] bool read();
  /// Waits for the next message; nothing if the other side is gone. Throws DecodeError.
  [[nodiscard]] std::optional<Bytes> receive();

  /// File descriptor for poll().
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
  Bytes input_;
  Bytes output_;  ///< enqueued messages that the socket has not taken yet
};

}  // namespace wallheat
