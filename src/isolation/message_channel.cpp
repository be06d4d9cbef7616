#include "isolation/message_channel.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "core/codec.hpp"

namespace wallheat {
namespace {

// A message is framed by this mark and its size. The mark detects at once that the peer sent
// something else.
constexpr std::uint64_t header_mark = 0x54414548'4c4c4157;  // "WALLHEAT"
constexpr std::size_t header_bytes = 16;

Bytes framed(std::span<const std::byte> message) {
  Encoder encoder;
  encoder(header_mark, message);
  return encoder.take();
}

/// Returns the number of bytes that were sent. If that is not all of them, errno is the reason.
std::size_t send_bytes(int socket, std::span<const std::byte> bytes, int flags) {
  std::span<const std::byte> rest = bytes;
  while (!rest.empty()) {
    const auto sent = ::send(socket, rest.data(), rest.size(), flags | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) break;
    rest = rest.subspan(static_cast<std::size_t>(sent));
  }
  return bytes.size() - rest.size();
}

}  // namespace

bool MessageChannel::send(std::span<const std::byte> message) {
  const Bytes bytes = framed(message);
  return send_bytes(socket_.get(), bytes, 0) == bytes.size();
}

void MessageChannel::enqueue(std::span<const std::byte> message) {
  const Bytes bytes = framed(message);
  output_.insert(output_.end(), bytes.begin(), bytes.end());
  flush();
}

void MessageChannel::flush() {
  const std::size_t sent = send_bytes(socket_.get(), output_, MSG_DONTWAIT);
  const bool is_full = sent < output_.size() && (errno == EAGAIN || errno == EWOULDBLOCK);
  const auto rest = output_.begin() + static_cast<std::ptrdiff_t>(sent);
  output_.erase(output_.begin(), is_full ? rest : output_.end());
}

std::optional<Bytes> MessageChannel::next() {
  if (input_.size() < header_bytes) return std::nullopt;
  Decoder header(input_);
  std::uint64_t mark = 0;
  std::uint64_t size_bytes = 0;
  header(mark, size_bytes);
  if (mark != header_mark) throw DecodeError("not a message");
  if (input_.size() - header_bytes < size_bytes) return std::nullopt;
  const auto begin = input_.begin() + header_bytes;
  const auto end = begin + static_cast<std::ptrdiff_t>(size_bytes);
  Bytes message(begin, end);
  input_.erase(input_.begin(), end);
  return message;
}

bool MessageChannel::read() {
  // The buffer grows with the bytes that arrive, and not by the size in a header, which may be
  // invalid.
  std::array<std::byte, 64U << 10> piece;  // larger than most messages
  ssize_t count = 0;
  do {
    count = ::recv(socket_.get(), piece.data(), piece.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count > 0) input_.insert(input_.end(), piece.begin(), piece.begin() + count);
  return count > 0;
}

std::optional<Bytes> MessageChannel::receive() {
  for (;;) {
    if (auto message = next()) return message;
    if (!read()) return std::nullopt;
  }
}

}  // namespace wallheat
