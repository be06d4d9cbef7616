#include "isolation/solver_child.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "core/file_descriptor.hpp"
#include "io/child_process.hpp"
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

/// Waits for a while. Returns whether there is anything to read.
bool poll(std::span<pollfd> files, SilenceLeft& left) {
  constexpr double longest_step_s = 1;
  const bool for_ever = std::isinf(left.count());
  const int step_ms =
      for_ever ? -1 : static_cast<int>(std::min(left.count() / 8, longest_step_s) * 1e3) + 1;
  const auto start = Clock::now();
  const int ready = ::poll(files.data(), files.size(), step_ms);
  if (!for_ever) left -= std::min<Seconds>(Clock::now() - start, Seconds(step_ms * 1e-3));
  return ready > 0;
}

class SolverProcess : public SolverChild {
 public:
  SolverProcess(const SolverProgram& program, JobSettings settings) {
    // Only the process finds out how many its device likes to have. No device likes more.
    constexpr std::size_t most_lanes = 128;
    auto [ours, theirs] = socket_pair();
    lanes_.emplace_back(std::move(ours));
    std::vector<FileDescriptor> others;
    while (lanes_.size() < (settings.lanes == 0 ? most_lanes : settings.lanes)) {
      auto [our_end, their_end] = socket_pair();
      lanes_.emplace_back(std::move(our_end));
      settings.sockets.push_back(their_end.get());
      others.push_back(std::move(their_end));
    }
    std::vector<std::string> words{"wallheat"};
    words.insert(words.end(), program.arguments.begin(), program.arguments.end());
    process_.emplace(ProgramStart{.program = program.file,
                                  .words = words,
                                  .in = theirs.get(),
                                  .files = settings.sockets,
                                  .hears_no_stop = true});
    SolverProcess::send(0, encode(settings));
  }

  void send(std::size_t lane, const Bytes& message) override {
    (void)lanes_.at(lane).channel.send(message, false);
  }

  SolverEvent wait(std::size_t lane, const std::stop_token& stop, SilenceLeft& left) override {
    auto& [channel, wake] = lanes_.at(lane);
    eventfd_t old = 0;
    (void)::eventfd_read(wake.get(), &old);
    const std::stop_callback wake_on_stop(stop, [fd = wake.get()] { ::eventfd_write(fd, 1); });
    try {
      for (;;) {
        if (const auto bytes = channel.next()) return decode_from_worker(*bytes);
        if (left <= Seconds(0)) return TimedOut{};
        std::array files{pollfd{channel.fd(), POLLIN, 0}, pollfd{wake.get(), POLLIN, 0}};
        if (!poll(files, left)) continue;
        if (files[0].revents == 0) return Stopped{};
        if (!channel.read()) return Died{ending()};
      }
    } catch (const DecodeError& error) {
      return Died{fmt::format("sent an invalid answer ({})", error.what())};
    }
  }

  bool kill_and_reap() override {
    const std::scoped_lock lock(process_mutex_);
    process_->kill();
    return process_->wait(std::chrono::seconds(1));
  }

  bool is_gone() override {
    const std::scoped_lock lock(process_mutex_);
    return process_->wait({});
  }

 private:
  /// The first to ask waits for the kernel.
  std::string ending() {
    const std::scoped_lock lock(process_mutex_);
    if (ending_.empty())
      ending_ =
          process_->wait(std::chrono::seconds(1)) ? process_->ending() : "hung up without ending";
    return ending_;
  }

  struct Lane {
    explicit Lane(FileDescriptor socket) : channel(std::move(socket)) {
      if (wake.get() < 0) throw RunError(fmt::format("eventfd: {}", std::strerror(errno)));
    }
    MessageChannel channel;
    FileDescriptor wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // readable: a stop is requested
  };
  std::vector<Lane> lanes_;
  std::mutex process_mutex_;
  std::optional<ChildProcess> process_;
  std::string ending_;
};

}  // namespace

std::unique_ptr<SolverChild> SolverProgram::operator()(const JobSettings& settings) const {
  return std::make_unique<SolverProcess>(*this, settings);
}

}  // namespace wallheat
