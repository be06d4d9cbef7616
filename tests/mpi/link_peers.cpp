#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "mpi/mpi_link.hpp"

// Three ranks under mpirun that talk through the link of a run: `link_peers
// stopped|killed|pieces|signs`. Rank 0 prints what it heard.

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

// More than any transport sends before the receiver has agreed.
constexpr std::size_t large = 8U << 20;

/// True once a process is stopped, or dead and not yet buried.
bool has_state(pid_t pid, std::string_view states) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto after_name = text.rfind(')');
  return after_name == std::string::npos ||  // buried
         states.find(text.at(after_name + 2)) != std::string_view::npos;
}

void send_pid(Link& link) {
  const pid_t pid = ::getpid();
  Bytes message(sizeof pid);
  std::memcpy(message.data(), &pid, sizeof pid);
  link.send(0, message);
}

pid_t hear_pid(Link& link) {
  pid_t pid = 0;
  std::memcpy(&pid, wait_for(link).message.data(), sizeof pid);
  return pid;
}

/// The others wait for this.
void let_go(Link& link) {
  link.send(1, {});
  link.send(2, {});
  link.flush(std::chrono::seconds(600));
}

/// Rank 1 is gone in the middle of a large message; rank 2 must still be heard.
int lose_a_sender(wallheat::MpiSession& mpi, bool kill) {
  Link& link = mpi.link();
  if (mpi.rank() == 1) {
    send_pid(link);
    (void)wait_for(link);  // both sides are connected
    link.send(0, bytes_of(large, 1));
    link.send(0, bytes_of(3, 2));
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
  const pid_t pid = hear_pid(link);
  link.send(1, {});
  link.flush(std::chrono::seconds(600));
  while (!has_state(pid, kill ? "ZX" : "T")) std::this_thread::yield();
  link.send(2, {});
  const Envelope first = wait_for(link);
  std::printf("heard rank %d\n", first.from);
  std::fflush(stdout);
  if (kill) mpi.leave_without_the_lost(0);
  ::kill(pid, SIGCONT);
  const Bytes one = wait_for(link).message;
  const Bytes two = wait_for(link).message;
  std::printf("%s\n", one == bytes_of(large, 1) && two == bytes_of(3, 2)
                          ? "and then all of rank 1 in order"
                          : "and then nonsense");
  let_go(link);
  return 0;
}

/// Rank 1 is stopped. Rank 0 tells it more often that it lives than there is room for messages;
/// rank 2 must still be reached.
int tell_a_stopped_rank(wallheat::MpiSession& mpi) {
  Link& link = mpi.link();
  if (mpi.rank() == 1) {
    send_pid(link);
    link.flush(std::chrono::seconds(600));
    ::raise(SIGSTOP);
    int signs = 0;
    while (wait_for(link).message == bytes_of(1, 1)) ++signs;
    std::printf("rank 1 was told %d times\n", signs);
    link.send(0, {});
    (void)wait_for(link);
    return 0;
  }
  if (mpi.rank() == 2) {
    link.send(0, wait_for(link).message);
    (void)wait_for(link);
    return 0;
  }
  const pid_t pid = hear_pid(link);
  while (!has_state(pid, "T")) std::this_thread::yield();
  for (int k = 0; k < 3000; ++k) {
    link.send_sign_of_life(1, bytes_of(1, 1));
    (void)link.receive(std::chrono::microseconds(0));
  }
  link.send(2, bytes_of(5, 3));
  const bool reached = wait_for(link).message == bytes_of(5, 3);
  std::printf("%s\n", reached ? "rank 2 is reached" : "rank 2 says nonsense");
  std::fflush(stdout);
  ::kill(pid, SIGCONT);
  link.send(1, bytes_of(2, 2));
  (void)wait_for(link);
  link.send_sign_of_life(1, bytes_of(1, 1));
  link.send(2, {});
  link.flush(std::chrono::seconds(600));
  return 0;
}

/// The most memory that this process has had, in MiB.
int most_memory_mib() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    int kib = 0;
    if (word == "VmHWM:" && file >> kib) return kib >> 10;
  }
  return 0;
}

#ifdef __SANITIZE_THREAD__
constexpr int bounded_mib = 2400;  // it holds several bytes for each
#else
constexpr int bounded_mib = 600;
#endif

/// Ranks 1 and 2 send half a gigabyte each before rank 0 looks.
int flood(wallheat::MpiSession& mpi) {
  constexpr int count = 16;
  constexpr std::size_t size = std::size_t{32} << 20;
  Link& link = mpi.link();
  if (mpi.rank() != 0) {
    const Bytes message = bytes_of(size, mpi.rank());
    for (int k = 0; k < count; ++k) link.send(0, message);
    (void)wait_for(link);
    return 0;
  }
  bool sound = true;
  for (int k = 0; k < 2 * count; ++k) sound = wait_for(link).message.size() == size && sound;
  const int most = most_memory_mib();
  std::printf(
      "%s, %s\n", sound ? "all is there" : "nonsense",
      most < bounded_mib ? "in bounded memory" : ("in " + std::to_string(most) + " MiB").c_str());
  let_go(link);
  return 0;
}

/// Ranks 1 and 2 send messages of many lengths at the same time, cut into pieces of 1000 bytes.
int send_in_pieces(wallheat::MpiSession& mpi) {
  Link& link = mpi.link(1000);
  constexpr std::size_t sizes[] = {0, 1, 999, 1000, 1001, 2000, 123456, 7};
  constexpr std::size_t rounds = std::size(sizes);
  if (mpi.rank() != 0) {
    for (const std::size_t size : sizes) link.send(0, bytes_of(size, mpi.rank()));
    (void)wait_for(link);
    return 0;
  }
  std::size_t heard[3] = {};
  while (heard[1] < rounds || heard[2] < rounds) {
    const Envelope envelope = wait_for(link);
    if (envelope.message != bytes_of(sizes[heard[envelope.from]++], envelope.from)) {
      std::printf("nonsense from rank %d\n", envelope.from);
      return 1;
    }
  }
  std::printf("all is as it was sent\n");
  let_go(link);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  wallheat::MpiSession mpi;
  if (what == "pieces") return send_in_pieces(mpi);
  if (what == "flood") return flood(mpi);
  if (what == "signs") return tell_a_stopped_rank(mpi);
  if (what == "stopped" || what == "killed") return lose_a_sender(mpi, what == "killed");
  return 2;
}
