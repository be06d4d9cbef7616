#include "isolation/solver_child.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "core/file_descriptor.hpp"
#include "isolation/child_process.hpp"
#include "isolation/message_channel.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw RunError(fmt::format("no socket for a solver process: {}", std::strerror(errno)));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

int milliseconds(Seconds time) { return static_cast<int>(time.count() * 1e3) + 1; }

/// Can be waited for together with a socket.
class Wake {
 public:
  Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_.get() < 0) throw RunError(fmt::format("eventfd: {}", std::strerror(errno)));
  }
  void set() const { ::eventfd_write(fd_.get(), 1); }
  void clear() const {
    eventfd_t ignored = 0;
    ::eventfd_read(fd_.get(), &ignored);
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

/// Waits for a while. Returns whether there is anything to read.
bool poll(std::span<pollfd> files, IdleTimer& idle_timer) {
  const Seconds limit = idle_timer.limit();
  const int step_ms = limit == for_ever ? -1 : milliseconds(std::min(limit / 8, Seconds(1)));
  const auto start = Clock::now();
  const int ready = ::poll(files.data(), files.size(), step_ms);
  idle_timer.add(std::min<Seconds>(Clock::now() - start, Seconds(step_ms * 1e-3)));
  return ready > 0;
}

class SolverProcess : public SolverChild {
 public:
  SolverProcess(const SolverProgram& program, SolverSetup setup)
      : process_([&] {
          auto ends = socket_pair();
          lanes_.emplace_back(std::move(ends.first));
          return ChildProcess(program.file, program.arguments, ends.second.get());
        }()) {
    setup.parent = ::getpid();
    SolverProcess::send(0, encode(setup));
  }

  void open_lanes(std::size_t lanes) override {
    while (lanes_.size() < lanes) {
      auto [ours, theirs] = socket_pair();
      // Where nobody listens, the next wait finds that out.
      (void)lanes_.front().channel.send_file(theirs);
      lanes_.emplace_back(std::move(ours));
    }
  }

  void send(std::size_t lane, const Bytes& message) override {
    (void)lanes_.at(lane).channel.send(message, false);
  }

  SolverEvent wait(std::size_t lane, const std::stop_token& stop, IdleTimer& idle_timer) override {
    auto& [channel, wake] = lanes_.at(lane);
    wake.clear();
    const std::stop_callback wake_on_stop(stop, [&wake = wake] { wake.set(); });
    try {
      for (;;) {
        if (const auto bytes = channel.next()) return decode_from_worker(*bytes);
        if (idle_timer.expired()) return TimedOut{};
        std::array files{pollfd{channel.fd(), POLLIN, 0}, pollfd{wake.fd(), POLLIN, 0}};
        if (!poll(files, idle_timer)) continue;
        if (files[0].revents == 0) return Stopped{};
        if (!channel.read()) return Died{ending()};
      }
    } catch (const DecodeError& error) {
      return Died{fmt::format("sent an invalid answer ({})", error.what())};
    }
  }

  bool kill_and_reap() override {
    const std::scoped_lock lock(process_mutex_);
    process_.kill();
    return process_.wait(std::chrono::seconds(1));
  }

  bool is_gone() override {
    const std::scoped_lock lock(process_mutex_);
    return process_.wait({});
  }

 private:
  /// The first to ask waits for the kernel.
  std::string ending() {
    const std::scoped_lock lock(process_mutex_);
    if (ending_.empty())
      ending_ =
          process_.wait(std::chrono::seconds(1)) ? process_.ending() : "hung up without ending";
    return ending_;
  }

  struct Lane {
    explicit Lane(FileDescriptor socket) : channel(std::move(socket)) {}
    MessageChannel channel;
    Wake wake{};
  };
  std::vector<Lane> lanes_;
  std::mutex process_mutex_;
  ChildProcess process_;
  std::string ending_;
};

}  // namespace

std::unique_ptr<SolverChild> SolverProgram::operator()(const SolverSetup& setup) const {
  return std::make_unique<SolverProcess>(*this, setup);
}

}  // namespace wallheat
