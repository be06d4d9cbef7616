#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "core/input_file.hpp"
#include "core/system_limits.hpp"
#include "isolation/command_process.hpp"
#include "isolation/message_channel.hpp"
#include "isolation/worker_loop.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// The kernel may take long to end a process. The pool does not wait longer than this, which is
// enough for a supervisor.
constexpr std::chrono::seconds max_exit_wait{max_supervisor_exit_time};

/// Throws a RunError with the reason in errno.
[[noreturn]] void throw_not_created(const char* what) {
  throw RunError(
      fmt::format("cannot create the {} of a solver process: {}", what, system_error_text(errno)));
}

/// Returns true if all processes that have the other end of a socket have ended. Discards what they
/// have sent.
bool has_hung_up(int socket) {
  std::array<char, 4096> unread{};
  ssize_t count = 0;
  while ((count = ::recv(socket, unread.data(), unread.size(), MSG_DONTWAIT)) > 0) {
  }
  return count == 0 || (errno != EAGAIN && errno != EINTR);
}

bool has_input(int file) {
  pollfd check{file, POLLIN, 0};
  return ::poll(&check, 1, 0) > 0;
}

/// Memory that a worker shares with a solver process and with its replacements.
struct SharedPage {
  SharedPage() {
    if (file.get() < 0 || ::ftruncate(file.get(), sizeof(ProgressPage)) != 0)
      throw_not_created("shared memory");
    void* memory =
        ::mmap(nullptr, sizeof(ProgressPage), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) throw_not_created("shared memory");
    slots = new (memory) ProgressPage;
  }
  ~SharedPage() { ::munmap(slots, sizeof(ProgressPage)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  FileDescriptor file{::memfd_create("wallheat", MFD_CLOEXEC)};
  ProgressPage* slots = nullptr;
};

}  // namespace

struct SolverProcessPool::Process {
  SolveConfig settings;
  std::int32_t thread = 0;
  SharedPage page{};
  std::unique_ptr<ChildProcess> process{};
  std::optional<MessageChannel> channel{};  ///< nullopt: not running, or its messages are ignored
  /// Socket of a process that must end, until it, and the supervisor of its solver command, have
  /// ended, or `end_deadline` has passed.
  std::optional<MessageChannel> ending{};
  std::chrono::steady_clock::time_point end_deadline{};
  bool is_ready = false;    ///< it has sent ProcessReady
  bool must_start = false;  ///< when the previous process has ended
  std::string problem{};    ///< why it could not be started; empty if it could

  /// Returns true if the process, and the supervisor of its solver command, have ended, or if the
  /// pool does not wait for that any longer.
  [[nodiscard]] bool has_ended() const {
    return std::chrono::steady_clock::now() >= end_deadline ||
           ((!process || process->wait({})) && (!ending || has_hung_up(ending->fd())));
  }
  [[nodiscard]] bool is_idle() const {
    return is_ready && std::ranges::all_of(*page.slots, [](const SlotProgress& slot) {
             return slot.plan.load(std::memory_order_acquire) == SlotProgress::no_plan;
           });
  }
};

SolverProcessPool::SolverProcessPool(SolverProgram program) : program_(std::move(program)) {}

SolverProcessPool::~SolverProcessPool() {
  // All processes are ended before this waits for one of them.
  for (std::size_t number = 0; number < processes_.size(); ++number) kill(number);
  constexpr std::chrono::milliseconds pause{1};
  for (const auto& process : processes_)
    while (!process->has_ended()) std::this_thread::sleep_for(pause);
}

void SolverProcessPool::add(const SolveConfig& settings) {
  // NOLINTNEXTLINE(modernize-make-unique): an aggregate
  processes_.emplace_back(new Process{settings, static_cast<std::int32_t>(processes_.size())});
}

void SolverProcessPool::start(std::size_t number) {
  processes_[number]->must_start = true;
  start_if_possible(*processes_[number]);
}

/// Starts a process that must start, unless the previous process has not ended: it may still use a
/// GPU, or much memory.
void SolverProcessPool::start_if_possible(Process& process) {
  if (!process.must_start || !process.has_ended()) return;
  process.must_start = process.is_ready = false;
  std::erase_if(killed_, [](const auto& child) { return child->wait({}); });
  if (process.process && !process.process->wait({})) {
    process.process->kill();
    killed_.push_back(std::move(process.process));
  }
  process.ending.reset();
  new (process.page.slots) ProgressPage;
  try {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw_not_created("socket");
    process.channel.emplace(FileDescriptor(ends[0]));
    const FileDescriptor theirs(ends[1]);
    std::vector<std::string> argv{"wallheat"};
    argv.insert(argv.end(), program_.arguments.begin(), program_.arguments.end());
    process.process =
        std::make_unique<ChildProcess>(SpawnOptions{.program = program_.file,
                                                    .argv = argv,
                                                    .stdin_fd = theirs.get(),
                                                    .inherited_fds = {process.page.file.get()},
                                                    .block_stop_signals = true});
    // If the process has died already, poll() detects it.
    process.channel->enqueue(
        to_bytes(ProcessConfig{process.page.file.get(), process.thread, encode(process.settings)}));
  } catch (const RunError& error) {
    process.problem = error.what();
  }
}

void SolverProcessPool::assign(std::size_t process, const Task& task) {
  auto& channel = processes_[process]->channel;
  if (channel) channel->enqueue(to_bytes(task));
}

void SolverProcessPool::kill(std::size_t number) {
  Process& process = *processes_[number];
  process.must_start = false;
  if (!process.channel) return;  // it does not run, or is ending
  if (process.settings.solver.kind == SolverKind::command && process.is_idle())
    ::shutdown(process.channel->fd(), SHUT_WR);
  else if (process.process)
    process.process->kill();
  process.ending = std::exchange(process.channel, std::nullopt);
  process.end_deadline = std::chrono::steady_clock::now() + max_exit_wait;
}

std::vector<ProcessEvent> SolverProcessPool::poll(std::chrono::milliseconds at_most) {
  std::vector<ProcessEvent> events;
  std::vector<pollfd> files;
  for (std::size_t number = 0; number < processes_.size(); ++number) {
    Process& process = *processes_[number];
    start_if_possible(process);
    if (!process.problem.empty()) {
      events.push_back(
          {number, ProcessExit{ProcessExit::Cause::failed, std::exchange(process.problem, "")}});
      kill(number);
    }
    const bool has_output = process.channel && process.channel->has_output();
    files.push_back({process.channel ? process.channel->fd() : -1,
                     static_cast<short>(POLLIN | (has_output ? POLLOUT : 0)), 0});
  }
  const auto wait = events.empty() ? at_most : std::chrono::milliseconds{0};
  if (::poll(files.data(), files.size(), static_cast<int>(wait.count())) <= 0) return events;
  for (std::size_t number = 0; number < processes_.size(); ++number) {
    if ((files[number].revents & POLLOUT) != 0) processes_[number]->channel->flush();
    if ((files[number].revents & ~POLLOUT) != 0) listen(number, events);
  }
  return events;
}

void SolverProcessPool::listen(std::size_t number, std::vector<ProcessEvent>& events) {
  Process& process = *processes_[number];
  const auto poll = [&](FromProcess what) {
    if (std::holds_alternative<ProcessReady>(what)) process.is_ready = true;
    events.push_back({number, std::move(what)});
    if (std::holds_alternative<ProcessExit>(events.back().message)) kill(number);
  };
  const auto died = [&](const std::string& how) {
    poll(ProcessExit{ProcessExit::Cause::crashed, how});
  };
  try {
    while (process.channel && has_input(process.channel->fd())) {
      if (!process.channel->read()) {
        const bool has_ended = process.process->wait(max_exit_wait);
        if (has_ended && process.process->succeeded() && process.channel->has_incomplete_message())
          return died("sent an incomplete message");
        return died(has_ended ? process.process->exit_description()
                              : "closed the connection, but is still running");
      }
      while (const auto bytes = process.channel ? process.channel->next() : std::nullopt)
        poll(from_bytes<FromProcess>(*bytes));
    }
  } catch (const DecodeError& error) {
    died(fmt::format("sent an invalid message ({})", error.what()));
  }
}

void SolverProcessPool::for_each_progress(
    std::size_t number, const std::function<void(const PlanProgress&)>& visit) const {
  const ProgressPage& page = *processes_[number]->page.slots;
  const std::size_t slots = processes_[number]->settings.slots;
  for (std::size_t slot = 0; slot < (slots == 0 ? page.size() : slots); ++slot) {
    const QueueIndex plan = page[slot].plan.load(std::memory_order_acquire);
    if (plan == SlotProgress::no_plan) continue;
    visit({plan, page[slot].iterations.load(std::memory_order_relaxed),
           page[slot].delta.load(std::memory_order_relaxed)});
  }
}

}  // namespace wallheat
