#pragma once

#include <optional>
#include <span>

#include "core/bytes.hpp"
#include "core/file_descriptor.hpp"

namespace wallheat {

/// One end of a stream socket that carries messages.
class MessageChannel {
 public:
  explicit MessageChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// Returns false if the other side is gone or, with `wait` false, does not read.
  [[nodiscard]] bool send(std::span<const std::byte> message, bool wait);

  /// Takes the next message off what was read. Throws DecodeError if it is none.
  [[nodiscard]] std::optional<Bytes> next();
  /// Reads what there is, at least a byte. Returns false if the other side is gone. Throws
  /// DecodeError if it went in the middle of a message.
  [[nodiscard]] bool read();
  /// Waits for the next message; nothing if the other side is gone. Throws DecodeError.
  [[nodiscard]] std::optional<Bytes> receive();

  /// To wait for input.
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
  Bytes input_;
};

}  // namespace wallheat
