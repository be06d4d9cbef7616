// Messages between processes.

#include "queue/messages.hpp"

#include <sys/socket.h>

#include "core/codec.hpp"
#include "isolation/message_channel.hpp"
#include "monitor/run_status.hpp"
#include "target.hpp"

namespace wallheat::fuzz {
namespace {

/// Sender of the message, by the first byte: worker, rank 0, solver process stream, status file.
enum class Sender { worker, rank_0, stream, run };

/// A message that can be decoded does not change when it is encoded again.
template <class Decode>
void check_round_trip(std::span<const std::byte> bytes, Decode decode) {
  accepts<DecodeError>([&] {
    const Bytes again = encode(decode(bytes));
    require(encode(decode(again)) == again, "a message changes when it is encoded again");
  });
}

void read_stream(std::span<const std::byte> bytes) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair() failed");
  MessageChannel channel{FileDescriptor(ends[0])};
  const FileDescriptor other(ends[1]);
  const auto sent = ::send(other.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  ::shutdown(other.get(), SHUT_WR);
  if (sent != static_cast<ssize_t>(bytes.size())) return;  // larger than the socket's buffer
  accepts<DecodeError>([&] {
    while (const auto message = channel.receive()) {
      require(message->size() <= bytes.size(), "a message is longer than the stream");
      check_round_trip(*message, decode_from_worker);
    }
  });
}

std::vector<std::string> status_seeds() {
  RunStatus status;
  status.state = "running";
  status.total = 10;
  const std::string small = status_json(status);
  status.seconds_left = 1.5;
  const WorkerStatus busy{
      1, "node", "cpu", 2, 5, 0.1, "working", {{"10000", 100, 0.5, 1}}, GpuSample{.power_w = 512}};
  status.workers.push_back(busy);
  std::vector<std::string> texts{small, status_json(status), std::string(2000, '['), "null"};
  for (const std::string number : {"1e300", "-1.5", "18446744073709551615"})
    texts.push_back(std::string(small).replace(small.find("\"total\": 10") + 9, 2, number));
  return texts;
}

std::vector<std::string> message_seeds() {
  PlanResult result;
  result.id = "10000";
  result.status = PlanStatus::converged;
  result.field.resize(9);
  result.rooms.resize(2);
  const Gpu gpu{0, "gpu", "uuid", 1 << 30, 0};
  const WorkerProperties facts{"node", "gpu", 2, true, {0, 1}, true, gpu, "none", "a quota"};
  const TaskResult answer{QueueIndex{1}, TaskResult::Kind::solved, 2.5, 7, encode_result(result)};
  const std::vector<FromWorker> from_worker{
      WorkerReport{facts,
                   {{QueueIndex{7}, 100, 0.5, 2.5}},
                   {answer, answer},
                   {QueueIndex{1}},
                   {QueueIndex{2}, QueueIndex{3}},
                   GpuSample{},
                   1},
      WorkerReport{},
      Bye{Bye::Cause::interrupted, "no memory", {{QueueIndex{7}, 100, 0.5, 2.5}}, "node"}};
  const std::vector<ToWorker> to_worker{
      Setup{"1.0", {{"tolerance", "1"}}, {8, {{{{}, "10000"}, "32 x 32"}}, {{{{}, "10000"}, 9}}}},
      Assignment{{{{}, "10000"}, {QueueIndex{1}, "10029"}}}, Stop{}, Shutdown{true}};
  std::vector<std::string> inputs;
  const auto add = [&](Sender sender, const std::string& message) {
    inputs.push_back(static_cast<char>(sender) + message);
  };
  std::string stream;
  for (const FromWorker& from : from_worker) {
    const std::string text = text_of(encode(from));
    const std::uint64_t size = text.size();
    stream += "WALLHEAT" + text_of(std::as_bytes(std::span(&size, 1))) + text;
    add(Sender::worker, text);
  }
  add(Sender::stream, stream);
  for (const ToWorker& to : to_worker) add(Sender::rank_0, text_of(encode(to)));
  for (const std::string& status : status_seeds()) add(Sender::run, status);
  return inputs;
}

void read_message(std::string_view input) {
  if (input.empty()) return;
  const std::string_view message = input.substr(1);
  const auto bytes = bytes_of(message);
  switch (static_cast<Sender>(static_cast<unsigned char>(input[0]) % 4)) {
    case Sender::worker:
      return check_round_trip(bytes, decode_from_worker);
    case Sender::rank_0:
      return check_round_trip(bytes, decode_to_worker);
    case Sender::stream:
      return read_stream(bytes);
    case Sender::run:
      accepts<DecodeError>([&] {
        const std::string again = status_json(run_status_from_json(message));
        require(status_json(run_status_from_json(again)) == again,
                "a status changes when it is written again");
      });
  }
}

}  // namespace

const Target message{"message", 60'000, message_seeds, read_message};

}  // namespace wallheat::fuzz
