// What ranks, and a rank and its solver processes, say to each other: as one message, and as the
// stream of a socket.

#include <sys/socket.h>

#include "isolation/message_channel.hpp"
#include "queue/messages.hpp"
#include "target.hpp"

namespace wallheat::fuzz {
namespace {

std::string text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string framed(const std::string& message) {
  const std::uint64_t size = message.size();
  return "WALLHEAT" + std::string(reinterpret_cast<const char*>(&size), sizeof size) + message;
}

template <class Decode>
void read_message(std::span<const std::byte> bytes, Decode decode) {
  accepts<DecodeError>([&] {
    const Bytes again = encode(decode(bytes));
    require(encode(decode(again)) == again, "a message that changes when it is passed on");
  });
}

void read_message(std::span<const std::byte> bytes) {
  read_message(bytes, decode_from_worker);
  read_message(bytes, decode_to_worker);
}

void read_stream(std::span<const std::byte> bytes) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no socket");
  MessageChannel channel{FileDescriptor(ends[0])};
  const FileDescriptor other(ends[1]);
  const auto sent = ::send(other.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  ::shutdown(other.get(), SHUT_WR);
  if (sent != static_cast<ssize_t>(bytes.size())) return;  // larger than the socket's buffer
  accepts<DecodeError>([&] {
    while (const auto message = channel.receive()) {
      require(message->size() <= bytes.size(), "more than was sent");
      read_message(*message);
    }
  });
}

}  // namespace

std::vector<std::string> seeds() {
  PlanResult result;
  result.id = "10000";
  result.status = PlanStatus::converged;
  result.field.resize(9);
  result.rooms.resize(2);
  const Gpu gpu{0, "gpu", "uuid", 1 << 30, 0};
  const WorkerFacts facts{"node", "gpu", 2, true, {0, 1}, true, gpu, "none", "a quota"};
  const Result answer{1, Result::Kind::answered, 2.5, 7, encode_result(result)};
  const std::vector<FromWorker> from_worker{
      WorkerReport{facts, {{7, 100, 0.5, 2.5}}, {answer, answer}, {1}, {2, 3}, GpuSample{}, 1},
      WorkerReport{}, Bye{Bye::Why::interrupted, "no memory", {{7, 100, 0.5, 2.5}}, "node"}};
  const std::vector<ToWorker> to_worker{Setup{"1.0", "tolerance = 1", {{{0, "10000"}, "32 x 32"}}},
                                        Work{{{0, "10000"}, {1, "10029"}}}, Stop{}, End{true}};
  std::vector<Bytes> messages;
  for (const FromWorker& message : from_worker) messages.push_back(encode(message));
  for (const ToWorker& message : to_worker) messages.push_back(encode(message));
  std::vector<std::string> inputs;
  std::string stream;
  for (const Bytes& message : messages) {
    inputs.push_back(text(message));
    stream += framed(inputs.back());
  }
  inputs.push_back(stream);
  inputs.push_back(framed(inputs.front()));
  return inputs;
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat::fuzz;
  const auto bytes = bytes_of(text_of(data, size));
  read_message(bytes);
  read_stream(bytes);
  return 0;
}
