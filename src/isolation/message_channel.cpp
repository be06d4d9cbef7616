#include "isolation/message_channel.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace wallheat {
namespace {

// Before each message stand this mark and its size. The mark tells at once when the other side
// sends something else.
constexpr std::uint64_t header_mark = 0x54414548'4c4c4157;  // "WALLHEAT"
constexpr std::size_t header_bytes = 16;

// A byte that a file travels with, and room for what the kernel says of one.
constexpr char file_mark = 'F';

struct FilePassage {
  char mark = file_mark;
  iovec bytes{&mark, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};

  FilePassage() {
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  ~FilePassage() = default;
  FilePassage(const FilePassage&) = delete;
  FilePassage& operator=(const FilePassage&) = delete;
};

}  // namespace

bool MessageChannel::send(std::span<const std::byte> message, bool wait) {
  ByteWriter writer;
  writer.put(header_mark);
  writer.put(message);
  const Bytes bytes = writer.take();
  const int flags = MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT);
  for (std::span<const std::byte> rest = bytes; !rest.empty();) {
    const auto sent = ::send(socket_.get(), rest.data(), rest.size(), flags);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    rest = rest.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

std::optional<Bytes> MessageChannel::next() {
  if (input_.size() < header_bytes) return std::nullopt;
  ByteReader header(input_);
  if (header.get<std::uint64_t>() != header_mark) throw DecodeError("bytes that are no message");
  const auto size_bytes = header.get<std::uint64_t>();
  if (input_.size() - header_bytes < size_bytes) return std::nullopt;
  const auto begin = input_.begin() + header_bytes;
  const auto end = begin + static_cast<std::ptrdiff_t>(size_bytes);
  Bytes message(begin, end);
  input_.erase(input_.begin(), end);
  return message;
}

bool MessageChannel::read() {
  // Room grows with what has come, not with what a header promises.
  constexpr std::size_t piece_bytes = 64U << 10;
  const std::size_t old_size = input_.size();
  input_.resize(old_size + piece_bytes);
  ssize_t count = 0;
  do {
    count = ::recv(socket_.get(), input_.data() + old_size, piece_bytes, 0);
  } while (count < 0 && errno == EINTR);
  input_.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count <= 0 && old_size > 0) throw DecodeError("half a message");
  return count > 0;
}

std::optional<Bytes> MessageChannel::receive() {
  for (;;) {
    if (auto message = next()) return message;
    if (!read()) return std::nullopt;
  }
}

bool MessageChannel::send_file(const FileDescriptor& file) {
  FilePassage passage;
  cmsghdr* control = CMSG_FIRSTHDR(&passage.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.get();
  std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_.get(), &passage.header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

std::optional<FileDescriptor> MessageChannel::receive_file() {
  FilePassage passage;
  ssize_t count = 0;
  do {
    count = ::recvmsg(socket_.get(), &passage.header, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return std::nullopt;
  const cmsghdr* control = CMSG_FIRSTHDR(&passage.header);
  if (passage.mark != file_mark || control == nullptr || control->cmsg_type != SCM_RIGHTS)
    throw DecodeError("no file where one was to come");
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
  return FileDescriptor(fd);
}

}  // namespace wallheat
