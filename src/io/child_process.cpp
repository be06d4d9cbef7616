#include "io/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "core/input_file.hpp"
#include "core/system_limits.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

// Longest wait for the end of a killed process. The kernel may be slow to end a process with much
// memory, and cannot end a process that waits for an unresponsive file server.
constexpr std::chrono::milliseconds longest_wait{2000};
constexpr int unknown_status = -1;  // another part of the program has reaped the process

/// The descriptors of a child process, and its signal settings.
struct SpawnOrders {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  SpawnOrders() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnOrders() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnOrders(const SpawnOrders&) = delete;
  SpawnOrders& operator=(const SpawnOrders&) = delete;

  void give(int file, int as, int mode) {
    if (file >= 0) {
      ::posix_spawn_file_actions_adddup2(&files, file, as);
    } else {
      ::posix_spawn_file_actions_addopen(&files, as, "/dev/null", mode, 0);
    }
  }
};

/// Returns the environment of this process with some variables changed or added.
std::vector<std::string> changed_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (std::none_of(changes.begin(), changes.end(),
                     [&](const std::string& change) { return name_of(change) == name_of(text); }))
      all.push_back(text);
  }
  return all;
}

/// Returns the name of a signal that ended a process, and its usual cause.
std::string signal_text(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV, a memory error";
    case SIGBUS:
      return "SIGBUS, a memory error or a full disk";
    case SIGABRT:
      return "SIGABRT, an abort by a library";
    case SIGILL:
      return "SIGILL, an instruction that this processor does not support";
    case SIGFPE:
      return "SIGFPE, an arithmetic error";
    case SIGXCPU:
      return fmt::format("SIGXCPU {}, see 'ulimit -t'", at_processor_time_limit);
    case SIGKILL:
      return fmt::format("SIGKILL, perhaps {}", by_out_of_memory_killer);
    default:
      return fmt::format("signal {}", signal);
  }
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Returns the number of processes that the kernel's out-of-memory killer has killed on this host,
/// also those at the limit of a cgroup. Returns nullopt if the kernel does not report it.
std::optional<std::uint64_t> count_oom_kills() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  for (std::uint64_t value = 0; counters >> name >> value;)
    if (name == "oom_kill") return value;
  return std::nullopt;
}

/// Describes a SIGKILL of a process that has used `cpu_s` seconds of CPU time.
std::string kill_text(double cpu_s, const std::optional<std::uint64_t>& oom_kills_before) {
  constexpr double tick_s = 1;  // the kernel compares whole seconds
  const auto limit_s = processor_time_limit_s();
  if (limit_s && cpu_s > *limit_s - tick_s)
    return fmt::format("SIGKILL {}: {:.0f} s, see 'ulimit -t'", at_processor_time_limit, *limit_s);
  const auto oom_kills = count_oom_kills();
  if (!oom_kills || !oom_kills_before) return signal_text(SIGKILL);
  if (*oom_kills > *oom_kills_before) return fmt::format("SIGKILL {}", by_out_of_memory_killer);
  return "SIGKILL from outside (the kernel's out-of-memory killer killed no process)";
}

}  // namespace

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string exit_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "was killed by " + signal_text(WTERMSIG(wait_status));
  return fmt::format("ended with exit status {}", WEXITSTATUS(wait_status));
}

ChildProcess::ChildProcess(const SpawnOptions& start)
    : own_group_(start.new_process_group), oom_kills_before_(count_oom_kills()) {
  SpawnOrders orders;
  orders.give(start.stdin_fd, STDIN_FILENO, O_RDONLY);
  orders.give(start.stdout_fd, STDOUT_FILENO, O_WRONLY);
  if (start.stderr_fd >= 0) orders.give(start.stderr_fd, STDERR_FILENO, O_WRONLY);
  // Duplicating a descriptor to itself keeps it open in the program.
  for (const int file : start.inherited_fds) orders.give(file, file, 0);
  // Other programs expect that these two signals kill them, as they do by default.
  const sigset_t default_signals = set_of({SIGPIPE, SIGXFSZ});
  // Blocked before the first instruction of the program, which the program could not do itself.
  const sigset_t blocked = start.new_process_group
                               ? set_of({})
                               : set_of({SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU});
  int flags = POSIX_SPAWN_SETSIGDEF;
  if (start.block_stop_signals || start.new_process_group) flags |= POSIX_SPAWN_SETSIGMASK;
  if (start.new_process_group) flags |= POSIX_SPAWN_SETPGROUP;
  ::posix_spawnattr_setsigdefault(&orders.attributes, &default_signals);
  ::posix_spawnattr_setsigmask(&orders.attributes, &blocked);
  ::posix_spawnattr_setflags(&orders.attributes, static_cast<short>(flags));
  std::vector<std::string> words = start.argv;
  std::vector<std::string> variables = changed_environment(start.environment);
  const int error = ::posix_spawnp(&pid_, start.program.c_str(), &orders.files, &orders.attributes,
                                   pointers_to(words).data(), pointers_to(variables).data());
  if (error == 0) return;
  const std::string text =
      fmt::format("the program {} cannot be started: {}", start.program, system_error_text(error));
  if (error == ENOENT) throw NoSuchProgram(text);
  throw RunError(text);
}

ChildProcess::~ChildProcess() {
  kill();
  wait(longest_wait);
}

void ChildProcess::kill() const {
  if (!status_) ::kill(own_group_ ? -pid_ : pid_, SIGKILL);
}

bool ChildProcess::wait(std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  // Polls with growing pauses, because some kernels cannot wait for a process with a timeout.
  constexpr std::chrono::microseconds longest_pause{10000};
  for (std::chrono::microseconds pause{50}; !status_; pause = std::min(2 * pause, longest_pause)) {
    int status = 0;
    rusage usage{};
    const pid_t ended = ::wait4(pid_, &status, WNOHANG, &usage);
    if (ended == pid_) {
      status_ = status;
      cpu_s_ = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    }
    if (ended < 0 && errno == ECHILD) status_ = unknown_status;
    if (status_ || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return status_.has_value();
}

std::string ChildProcess::exit_description() const {
  if (!status_) return "is still running";
  if (*status_ == unknown_status) return "ended for an unknown reason";
  if (WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL)
    return "was killed by " + kill_text(cpu_s_, oom_kills_before_);
  return exit_text(*status_);
}

namespace {

[[noreturn]] void refuse_memory(const std::string& program) {
  throw RunError(fmt::format("cannot create a buffer for the input or output of {}: {}", program,
                             system_error_text(errno)));
}

/// Returns an in-memory file.
FileDescriptor memory_file(const std::string& program) {
  FileDescriptor file(::memfd_create(program.c_str(), MFD_CLOEXEC));
  if (file.get() < 0) refuse_memory(program);
  return file;
}

/// Returns an in-memory file from which a program reads `text`.
FileDescriptor file_with(const std::string& program, std::string_view text) {
  FileDescriptor file = memory_file(program);
  if (!file.write_at(0, std::as_bytes(std::span(text)))) refuse_memory(program);
  return file;
}

std::string all_of(const std::string& program, const FileDescriptor& file) {
  const auto size = std::max<off_t>(::lseek(file.get(), 0, SEEK_END), 0);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!file.read_at(0, std::as_writable_bytes(std::span(text))))
    throw RunError(
        fmt::format("the output of {} cannot be read: {}", program, system_error_text(errno)));
  return text;
}

}  // namespace

std::optional<ProgramOutput> run_and_capture(const std::vector<std::string>& words,
                                             std::string_view input,
                                             const std::vector<std::string>& environment,
                                             std::optional<std::chrono::seconds> limit) {
  const std::string& program = words.front();
  const FileDescriptor in = file_with(program, input);
  const FileDescriptor out = memory_file(program);
  const FileDescriptor messages = memory_file(program);
  try {
    ChildProcess child({.program = program,
                        .argv = words,
                        .stdin_fd = in.get(),
                        .stdout_fd = out.get(),
                        .stderr_fd = messages.get(),
                        .environment = environment,
                        .new_process_group = limit.has_value()});
    bool ended = child.wait(limit.value_or(std::chrono::hours(1)));
    while (!ended && !limit) ended = child.wait(std::chrono::hours(1));
    return ProgramOutput{all_of(program, out), all_of(program, messages), child.succeeded() ? 0 : 1,
                         !ended};
  } catch (const NoSuchProgram&) {
    return std::nullopt;
  }
}

std::string run_with_timeout(const std::vector<std::string>& words, std::string_view input,
                             std::chrono::seconds limit) {
  const std::string& program = words.front();
  const FileDescriptor in = file_with(program, input);
  const FileDescriptor output = memory_file(program);
  ChildProcess child({.program = program,
                      .argv = words,
                      .stdin_fd = in.get(),
                      .stdout_fd = output.get(),
                      .stderr_fd = output.get(),
                      .new_process_group = true});
  const bool ended = child.wait(limit);
  const std::string text = all_of(program, output);
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
  if (!ended) return fmt::format("did not end within {} s", limit.count());
  return child.succeeded() ? "" : child.exit_description();
}

}  // namespace wallheat
