#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "mpi/mpi_environment.hpp"

// Three ranks under mpirun. `peers stopped|killed|heartbeats|gather`: they communicate through the
// link of a run, and rank 0 prints the messages that it received. `peers never-start|never-end
// RANK`: that rank stops before MPI has started or ended; the others wait one second for it.
// `peers stop-in-gather RANK`: that rank stops while it exchanges messages with its group.

namespace {

using wallheat::Bytes;
using wallheat::Envelope;
using wallheat::Link;

Envelope wait_for(Link& link) {
  for (;;) {
    if (auto envelope = link.receive(std::chrono::milliseconds(50))) return std::move(*envelope);
  }
}

Bytes bytes_of(std::size_t size, int seed) {
  Bytes bytes(size);
  for (std::size_t k = 0; k < size; ++k)
    bytes[k] = static_cast<std::byte>((k * 31 + static_cast<std::size_t>(seed)) % 251);
  return bytes;
}

/// The first message is larger than any transport sends eagerly.
constexpr std::size_t lengths[] = {8U << 20, 0, 1, 7, 8, 9, 123456, 16};

/// Returns true if a process is in one of these states (T: stopped, Z: zombie), or does not exist.
bool has_state(pid_t pid, std::string_view states) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto after_name = text.rfind(')');
  return after_name == std::string::npos ||  // does not exist
         states.find(text.at(after_name + 2)) != std::string_view::npos;
}

void send_pid(Link& link) {
  const pid_t pid = ::getpid();
  Bytes message(sizeof pid);
  std::memcpy(message.data(), &pid, sizeof pid);
  link.send(0, message);
}

pid_t receive_pid(Link& link) {
  pid_t pid = 0;
  std::memcpy(&pid, wait_for(link).message.data(), sizeof pid);
  return pid;
}

/// Sends the message that the other ranks wait for before they end.
void release_peers(Link& link) {
  link.send(1, {});
  link.send(2, {});
  link.flush(std::chrono::seconds(600));
}

/// Rank 1 stops or dies during a large message; messages of rank 2 must still arrive.
int lose_a_sender(wallheat::MpiEnvironment& mpi, bool kill) {
  Link& link = mpi.link();
  if (mpi.rank() == 1) {
    send_pid(link);
    (void)wait_for(link);  // both sides are connected
    for (const std::size_t length : lengths) link.send(0, bytes_of(length, 1));
    ::raise(kill ? SIGKILL : SIGSTOP);
    link.flush(std::chrono::seconds(600));
    (void)wait_for(link);
    return 0;
  }
  if (mpi.rank() == 2) {
    (void)wait_for(link);
    link.send(0, bytes_of(5, 3));
    link.flush(std::chrono::seconds(600));
    (void)wait_for(link);
    return 0;
  }
  const pid_t pid = receive_pid(link);
  link.send(1, {});
  link.flush(std::chrono::seconds(600));
  while (!has_state(pid, kill ? "ZX" : "T")) std::this_thread::yield();
  link.send(2, {});
  const Envelope first = wait_for(link);
  std::printf("received from rank %d\n", first.from);
  std::fflush(stdout);
  if (kill) return mpi.finalize(0, false);
  ::kill(pid, SIGCONT);
  bool sound = true;
  for (const std::size_t length : lengths)
    sound = wait_for(link).message == bytes_of(length, 1) && sound;
  std::printf("%s\n", sound ? "received all of rank 1 in order" : "received damaged messages");
  release_peers(link);
  return 0;
}

/// Rank 1 is stopped. Rank 0 sends it more heartbeats than there is room for messages; messages to
/// rank 2 must still arrive.
int send_heartbeats_to_stopped_rank(wallheat::MpiEnvironment& mpi) {
  Link& link = mpi.link();
  if (mpi.rank() == 1) {
    send_pid(link);
    link.flush(std::chrono::seconds(600));
    ::raise(SIGSTOP);
    int heartbeats = 0;
    while (wait_for(link).message == bytes_of(1, 1)) ++heartbeats;
    std::printf("rank 1: %d heartbeats\n", heartbeats);
    link.send(0, {});
    (void)wait_for(link);
    return 0;
  }
  if (mpi.rank() == 2) {
    link.send(0, wait_for(link).message);
    (void)wait_for(link);
    return 0;
  }
  const pid_t pid = receive_pid(link);
  while (!has_state(pid, "T")) std::this_thread::yield();
  for (int k = 0; k < 3000; ++k) {
    link.send_heartbeat(1, bytes_of(1, 1));
    (void)link.receive(std::chrono::microseconds(0));
  }
  link.send(2, bytes_of(5, 3));
  const bool reached = wait_for(link).message == bytes_of(5, 3);
  std::printf("%s\n", reached ? "rank 2: reached" : "rank 2: damaged message");
  std::fflush(stdout);
  ::kill(pid, SIGCONT);
  link.send(1, bytes_of(2, 2));
  (void)wait_for(link);
  link.send_heartbeat(1, bytes_of(1, 1));
  link.send(2, {});
  link.flush(std::chrono::seconds(600));
  return 0;
}

/// Gathers messages of two groups: rank 1, and the others.
int gather_groups(const wallheat::MpiEnvironment& mpi) {
  const auto message_of = [](int rank) { return bytes_of(lengths[rank], rank); };
  std::map expected{std::pair(0, message_of(0)), {2, message_of(2)}};
  if (mpi.rank() == 1) expected = {{1, message_of(1)}};
  const std::string group = mpi.rank() == 1 ? "one" : "others";
  return mpi.gather_by_group(group, message_of(mpi.rank())) == expected ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view scenario = argc > 1 ? argv[1] : "";
  const auto stop_if_chosen = [&] {
    if (wallheat::launched_rank() == std::atoi(argv[2])) ::raise(SIGSTOP);
  };
  constexpr std::chrono::seconds short_s{1}, long_s{600};
  if (scenario == "never-start") stop_if_chosen();
  const bool stops_early = scenario == "never-start" || scenario == "stop-in-gather";
  wallheat::MpiEnvironment mpi(stops_early ? short_s : long_s,
                               scenario == "never-end" ? short_s : long_s);
  if (scenario == "stop-in-gather") {
    if (mpi.rank() == std::atoi(argv[2])) ::setenv("STOP_IN_GATHER", "1", 1);
    // Rank 0 forms a separate group, as in a run.
    (void)mpi.gather_by_group(mpi.rank() == 0 ? "" : "workers", {});
    if (mpi.rank() == 0) std::puts("rank 0 begins to send plans");
    return mpi.finalize(0, true);
  }
  if (scenario == "never-end") {
    stop_if_chosen();
    return mpi.finalize(75, true);
  }
  if (scenario == "gather") return gather_groups(mpi);
  if (scenario == "heartbeats") return send_heartbeats_to_stopped_rank(mpi);
  if (scenario == "stopped" || scenario == "killed")
    return lose_a_sender(mpi, scenario == "killed");
  return 0;
}
