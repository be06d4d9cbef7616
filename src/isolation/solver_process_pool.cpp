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

#include "core/input_file.hpp"
#include "core/system_limits.hpp"
#include "isolation/command_process.hpp"
#include "isolation/message_channel.hpp"
#include "isolation/worker_loop.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// The kernel may take long to end a process. The pool does not wait longer than this.
constexpr std::chrono::seconds max_exit_wait{1};

/// Throws a RunError with the reason in errno.
[[noreturn]] void throw_not_created(const char* what) {
  throw RunError(
      fmt::format("cannot create the {} of a solver process: {}", what, system_error_text(errno)));
}

/// Waits until all processes that have the other end of a socket have ended.
void wait_for_hangup(int socket) {
  const auto deadline = std::chrono::steady_clock::now() + max_supervisor_exit_time;
  std::array<char, 4096> unread{};
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd check{socket, POLLIN, 0};
    constexpr int interval_ms = 100;
    if (::poll(&check, 1, interval_ms) > 0 && ::read(socket, unread.data(), unread.size()) <= 0)
      return;
  }
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
  /// Socket of a killed process, until the supervisor of its solver command has ended.
  std::optional<MessageChannel> supervised{};
  std::string problem{};  ///< why it could not be started; empty if it could
};

SolverProcessPool::SolverProcessPool(SolverProgram program) : program_(std::move(program)) {}

SolverProcessPool::~SolverProcessPool() {
  for (std::size_t process = 0; process < processes_.size(); ++process)
    kill(process);  // all are killed before the destructors wait for one of them
  for (const auto& process : processes_)
    if (process->supervised) wait_for_hangup(process->supervised->fd());
}

void SolverProcessPool::add(const SolveConfig& settings) {
  // NOLINTNEXTLINE(modernize-make-unique): an aggregate
  processes_.emplace_back(new Process{settings, static_cast<std::int32_t>(processes_.size())});
}

void SolverProcessPool::start(std::size_t number) {
  Process& process = *processes_[number];
  std::erase_if(killed_, [](const auto& child) { return child->wait({}); });
  // The previous process may still use a GPU, or much memory.
  if (process.process && !process.process->wait(max_exit_wait))
    killed_.push_back(std::move(process.process));
  if (process.supervised) wait_for_hangup(process.supervised->fd());
  process.supervised.reset();
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
  if (process.channel && process.settings.solver.kind == SolverKind::command)
    process.supervised = std::move(process.channel);
  process.channel.reset();
  if (process.process) process.process->kill();
}

std::vector<ProcessEvent> SolverProcessPool::poll(std::chrono::milliseconds at_most) {
  std::vector<ProcessEvent> events;
  std::vector<pollfd> files;
  for (std::size_t number = 0; number < processes_.size(); ++number) {
    Process& process = *processes_[number];
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
    events.push_back({number, std::move(what)});
    if (std::holds_alternative<ProcessExit>(events.back().message)) kill(number);
  };
  const auto died = [&](const std::string& how) {
    poll(ProcessExit{ProcessExit::Cause::crashed, how});
  };
  try {
    while (process.channel && has_input(process.channel->fd())) {
      if (!process.channel->read())
        return died(process.process->wait(max_exit_wait)
                        ? process.process->exit_description()
                        : "closed the connection, but is still running");
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
