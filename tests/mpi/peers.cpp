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

#include "mpi/mpi_session.hpp"

// Three ranks under mpirun. `peers stopped|killed|signs|gather`: they talk through the link of a
// run, and rank 0 prints what it heard. `peers never-start|never-end RANK`: that rank stops for
// ever before MPI has started or ended; rank 0 waits a second for the others.

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

/// The first is more than any transport sends before the receiver has agreed.
constexpr std::size_t lengths[] = {8U << 20, 0, 1, 7, 8, 9, 123456, 16};

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
  const pid_t pid = hear_pid(link);
  link.send(1, {});
  link.flush(std::chrono::seconds(600));
  while (!has_state(pid, kill ? "ZX" : "T")) std::this_thread::yield();
  link.send(2, {});
  const Envelope first = wait_for(link);
  std::printf("heard rank %d\n", first.from);
  std::fflush(stdout);
  if (kill) return mpi.end(0, false);
  ::kill(pid, SIGCONT);
  bool sound = true;
  for (const std::size_t length : lengths)
    sound = wait_for(link).message == bytes_of(length, 1) && sound;
  std::printf("%s\n", sound ? "and then all of rank 1 in order" : "and then nonsense");
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

/// Rank 1 is in a group of its own.
int hear_group(const wallheat::MpiSession& mpi) {
  const auto said_by = [](int rank) { return bytes_of(lengths[rank], rank); };
  std::map expected{std::pair(0, said_by(0)), {2, said_by(2)}};
  if (mpi.rank() == 1) expected = {{1, said_by(1)}};
  const std::string group = mpi.rank() == 1 ? "one" : "others";
  return mpi.gather(group, said_by(mpi.rank())) == expected ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const auto stop_for_ever = [&] {
    if (wallheat::launched_rank() == std::atoi(argv[2])) ::raise(SIGSTOP);
  };
  constexpr std::chrono::seconds short_s{1}, long_s{600};
  if (what == "never-start") stop_for_ever();
  wallheat::MpiSession mpi(what == "never-start" ? short_s : long_s, short_s);
  if (what == "never-end") {
    stop_for_ever();
    return mpi.end(75, true);
  }
  if (what == "gather") return hear_group(mpi);
  if (what == "signs") return tell_a_stopped_rank(mpi);
  if (what == "stopped" || what == "killed") return lose_a_sender(mpi, what == "killed");
  return 0;
}
