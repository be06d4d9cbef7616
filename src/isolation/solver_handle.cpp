#include "isolation/solver_handle.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

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

}  // namespace

Wake::Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_.get() < 0) throw RunError(fmt::format("eventfd: {}", std::strerror(errno)));
}

void Wake::set() const { ::eventfd_write(fd_.get(), 1); }

void Wake::clear() const {
  eventfd_t ignored = 0;
  ::eventfd_read(fd_.get(), &ignored);
}

bool Wake::wait(std::chrono::milliseconds limit) const {
  pollfd file{fd_.get(), POLLIN, 0};
  return ::poll(&file, 1, static_cast<int>(limit.count())) > 0;
}

bool IdleTimer::poll(std::span<pollfd> files) {
  const int step_ms = limit_ == for_ever ? -1 : milliseconds(std::min(limit_ / 8, Seconds(1)));
  const auto start = Clock::now();
  const int ready = ::poll(files.data(), files.size(), step_ms);
  length_ += std::min<Seconds>(Clock::now() - start, Seconds(step_ms * 1e-3));
  return ready > 0;
}

SolverHandle::SolverHandle(const SolverProgram& program, const SolverSetup& setup)
    : process_([&] {
        auto ends = socket_pair();
        lanes_.emplace_back(std::move(ends.first));
        return ChildProcess(program.file, program.arguments, ends.second.get());
      }()) {
  send(0, encode(setup));
}

void SolverHandle::open_lanes(std::size_t lanes) {
  while (lanes_.size() < lanes) {
    auto [ours, theirs] = socket_pair();
    (void)lanes_.front().send_file(theirs);  // where nobody listens, the next wait finds that out
    lanes_.emplace_back(std::move(ours));
  }
}

void SolverHandle::send(std::size_t lane, const Bytes& message) {
  (void)lanes_.at(lane).send(message, false);
}

SolverEvent SolverHandle::wait(std::size_t lane, const Wake& wake, IdleTimer& idle_timer) {
  MessageChannel& channel = lanes_.at(lane);
  try {
    for (;;) {
      if (const auto bytes = channel.next()) return decode_from_worker(*bytes);
      if (idle_timer.expired()) return TimedOut{};
      std::array files{pollfd{channel.fd(), POLLIN, 0}, pollfd{wake.fd(), POLLIN, 0}};
      if (!idle_timer.poll(files)) continue;
      if (files[0].revents == 0) return Stopped{};
      if (!channel.read()) return Died{ending()};
    }
  } catch (const DecodeError& error) {
    return Died{fmt::format("has lost its senses ({})", error.what())};
  }
}

bool SolverHandle::kill_and_reap() {
  const std::scoped_lock lock(process_mutex_);
  process_.kill();
  return process_.wait(std::chrono::seconds(1));
}

bool SolverHandle::is_gone() {
  const std::scoped_lock lock(process_mutex_);
  return process_.wait({});
}

/// The first to ask waits for the kernel.
std::string SolverHandle::ending() {
  const std::scoped_lock lock(process_mutex_);
  if (ending_.empty())
    ending_ = process_.wait(std::chrono::seconds(1)) ? process_.ending() : "hung up without ending";
  return ending_;
}

}  // namespace wallheat
