#include "isolation/command_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "core/program.hpp"
#include "core/system_limits.hpp"
#include "core/text.hpp"
#include "io/child_process.hpp"
#include "io/files.hpp"
#include "io/process_setup.hpp"
#include "io/standard_streams.hpp"

namespace wallheat {
namespace {

using CommandClock = std::chrono::steady_clock;

constexpr std::size_t max_reply_bytes = 65536;  // of a line
constexpr std::size_t max_waiting_replies = 1000;
// Limits of the output that is forwarded to the log.
constexpr std::size_t max_logged_bytes = 400;  // of a line
constexpr double max_logged_burst = 50;        // lines
constexpr double max_logged_rate = 10;         // lines per second
constexpr std::size_t max_last_stderr_lines = 10;

constexpr const char* slot_folder = "/dev/shm/wallheat-slot";  // the names of folders begin so
constexpr std::chrono::minutes min_stale_age{1};

// Positions in CommandProcess::inputs_.
enum : std::size_t { program_stdout, program_stderr, program_replies, program_end };

/// Signal by which the kernel notifies a supervisor of the death of its parent, and by which the
/// parent requests the end.
constexpr int end_request = SIGUSR1;

/// Message of a supervisor: the program has ended, or it could not be started.
struct ProgramEnd {
  int exec_error = 0;      ///< errno; 0: it was started
  bool has_folder = true;  ///< false: `exec_error` is why its folder could not be created
  int wait_status = 0;     ///< as from waitpid()
};

std::string describe_end(const ProgramEnd& end, const std::string& program) {
  return end.exec_error == 0
             ? exit_text(end.wait_status)
             : fmt::format("cannot be started: {}: {}", program, system_error_text(end.exec_error));
}

/// Returns the OOM score of an ordinary process of this user. Solver processes have raised theirs.
std::string ordinary_oom_score() {
  std::string score;
  std::ifstream("/proc/" + std::to_string(::getppid()) + "/oom_score_adj") >> score;
  return score.empty() ? "0" : score;
}

/// Everything that the supervisor and the program need. It is prepared before they are forked.
struct ProgramStart {
  const std::filesystem::path& folder;
  std::vector<char*> argv;
  std::vector<std::string> environment;
  std::uint64_t open_files;
  std::string oom_score;
  pid_t parent;
  int requests, out, error, replies, end;  // descriptors
};

/// Becomes the program, with the signals, limits and OOM score of an ordinary program.
[[noreturn]] void become_program(ProgramStart& start, pid_t supervisor) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(exit_failed);
  for (int signal = 1; signal < SIGRTMIN; ++signal) (void)::signal(signal, SIG_DFL);
  ::dup2(start.requests, STDIN_FILENO);
  ::dup2(start.out, STDOUT_FILENO);
  ::dup2(start.error, STDERR_FILENO);
  for (const int fd : {start.requests, start.replies}) ::fcntl(fd, F_SETFD, 0);
  for (std::string& variable : start.environment) ::putenv(variable.data());
  std::ofstream("/proc/self/oom_score_adj") << start.oom_score;
  rlimit files{};
  if (start.open_files > 0 && ::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, start.open_files);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(start.argv.front(), start.argv.data());
  const ProgramEnd end{errno, true, 0};
  (void)!::write(start.end, &end, sizeof end);
  ::_exit(exit_failed);
}

/// Waits until the program ends; without a limit also until the end is requested. Reaps the
/// children of this process that end. Returns true, and sets `status`, if the program has ended.
bool wait_for_program(pid_t program, int& status, std::optional<std::chrono::seconds> limit) {
  constexpr timespec interval{0, 20'000'000};
  const auto start = CommandClock::now();
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGCHLD);
  if (!limit) ::sigaddset(&awaited, end_request);
  for (;;) {
    bool has_ended = false;
    int child_status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(-1, &child_status, WNOHANG)) > 0;)
      if (ended == program) {
        status = child_status;
        has_ended = true;
      }
    if (has_ended) return true;
    if (limit && CommandClock::now() - start > *limit) return false;
    if (::sigtimedwait(&awaited, nullptr, limit ? &interval : nullptr) == end_request) return false;
  }
}

/// Kills all descendants of a supervisor and reaps them. The kernel makes a process whose parent
/// has ended a child of the supervisor, so the list of children is read until it is empty. Gives up
/// after program_exit_time, because a process that is blocked in the kernel, or that has become
/// another user, does not end.
void kill_descendants(pid_t program, int& status) {
  constexpr timespec interval{0, 20'000'000};
  const auto deadline = CommandClock::now() + program_exit_time;
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGCHLD);
  ::kill(-program, SIGKILL);
  while (CommandClock::now() < deadline) {
    std::ifstream children("/proc/thread-self/children");
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
    int child_status = 0;
    const pid_t ended = ::waitpid(-1, &child_status, WNOHANG);
    if (ended < 0) return;  // none is left
    if (ended == program) status = child_status;
    if (ended == 0) (void)::sigtimedwait(&awaited, nullptr, &interval);
  }
}

/// Runs the supervisor: starts the program, and ends everything that it has started. All signals
/// are blocked.
[[noreturn]] void supervise(ProgramStart& start) {
  const pid_t self = ::getpid();
  ::setpgid(0, 0);
  (void)::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, end_request);
  if (::getppid() != start.parent) ::_exit(exit_failed);
  // This process creates the folder, because it outlives its parent, so that it can remove it.
  const bool has_folder = ::mkdir(start.folder.c_str(), S_IRWXU) == 0;
  const pid_t program = has_folder ? ::fork() : -1;
  if (program == 0) become_program(start, self);
  ProgramEnd end{program < 0 ? errno : 0, has_folder, 0};
  // The socket of a solver process stays open, so that the worker can wait for this process.
  close_fds_except(start.end);
  const FileDescriptor lock(::open(start.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)::flock(lock.get(), LOCK_EX | LOCK_NB);
  bool must_end = false;
  if (program > 0) {
    ::setpgid(program, program);
    must_end = !wait_for_program(program, end.wait_status, std::nullopt);
    // Its requests have ended, too, so it should end by itself.
    if (must_end && !wait_for_program(program, end.wait_status, program_exit_time)) {
      ::kill(-program, SIGTERM);
      ::kill(-program, SIGCONT);
      wait_for_program(program, end.wait_status, program_exit_time);
    }
    kill_descendants(program, end.wait_status);
  }
  (void)!::write(start.end, &end, sizeof end);
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, end_request);
  if (!must_end) (void)::sigwaitinfo(&awaited, nullptr);
  std::error_code ignored;
  if (has_folder) std::filesystem::remove_all(start.folder, ignored);
  ::_exit(exit_done);
}

/// Returns the end from which this process reads or to which it writes, and the other one.
std::pair<FileDescriptor, FileDescriptor> make_pipe(bool this_process_reads) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw RunError("no pipe to the solver command: " + system_error_text(errno));
  FileDescriptor read(ends[0]);
  FileDescriptor write(ends[1]);
  if (!this_process_reads) return {std::move(write), std::move(read)};
  ::fcntl(read.get(), F_SETFL, O_NONBLOCK);
  return {std::move(read), std::move(write)};
}

/// Removes the folders of killed slots whose supervisors were killed, too.
void remove_stale_folders() {
  const std::filesystem::path parent = std::filesystem::path(slot_folder).parent_path();
  for (const std::string& name : names_starting_with(slot_folder)) {
    if (!is_temporary_name(name, slot_folder)) continue;
    const std::filesystem::path path = parent / name;
    const auto info = stat_if_exists(path);
    if (!info || info->st_uid != ::geteuid()) continue;
    // A new folder is not locked yet.
    const auto changed = std::chrono::system_clock::from_time_t(info->st_mtime);
    if (std::chrono::system_clock::now() - changed < min_stale_age) continue;
    const FileDescriptor folder(
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::error_code ignored;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace

void OutputForwarder::begin_plan(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  prefix_ = "plan " + id;
  last_stderr_line_.clear();
  omitted_stderr_lines_.clear();
}

void OutputForwarder::add(std::size_t stream, std::string_view bytes) {
  const std::scoped_lock lock(mutex_);
  std::string& partial = partial_lines_.at(stream);
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    partial += bytes.substr(
        0, std::min(end, max_logged_bytes - std::min(partial.size(), max_logged_bytes)));
    if (end == bytes.size()) return;
    log(std::exchange(partial, {}), stream == 1);
    bytes.remove_prefix(end + 1);
  }
}

void OutputForwarder::log(std::string_view line, bool is_stderr) {
  if (is_stderr && !line.empty()) last_stderr_line_ = line;
  const auto now = CommandClock::now();
  const std::chrono::duration<double> passed = now - std::exchange(last_refill_, now);
  tokens_ = std::min(max_logged_burst, tokens_ + passed.count() * max_logged_rate);
  if (tokens_ < 1) {
    ++omitted_lines_;
    if (is_stderr) omitted_stderr_lines_.emplace_back(line);
    if (omitted_stderr_lines_.size() > max_last_stderr_lines) omitted_stderr_lines_.pop_front();
    return;
  }
  tokens_ -= 1;
  if (const std::size_t omitted = std::exchange(omitted_lines_, 0); omitted > 0)
    print_error("wallheat: solver command: {} of output omitted", count_text(omitted, "line"));
  omitted_stderr_lines_.clear();
  print_error("wallheat: {}: {}", escape_control_chars(prefix_), escape_control_chars(line));
}

std::string OutputForwarder::finish() {
  for (const std::size_t stream : {0, 1})
    if (!partial_lines_.at(stream).empty()) add(stream, "\n");
  const std::scoped_lock lock(mutex_);
  omitted_lines_ -= omitted_stderr_lines_.size();
  for (const std::string& line : std::exchange(omitted_stderr_lines_, {}))
    print_error("wallheat: {}: {}", escape_control_chars(prefix_), escape_control_chars(line));
  return last_stderr_line_;
}

CommandProcess::CommandProcess(const CommandLaunch& launch)
    : program_(launch.words.front()), folder_(new_temporary_path(slot_folder)) {
  auto [requests, their_requests] = make_pipe(false);
  requests_ = std::move(requests);
  std::array<FileDescriptor, 4> theirs;
  for (std::size_t stream = 0; stream < theirs.size(); ++stream)
    std::tie(inputs_[stream], theirs[stream]) = make_pipe(true);
  remove_stale_folders();
  std::vector<std::string> words = launch.words;
  ProgramStart start{folder_,
                     {},
                     launch.environment,
                     launch.open_files,
                     ordinary_oom_score(),
                     ::getpid(),
                     their_requests.get(),
                     theirs[program_stdout].get(),
                     theirs[program_stderr].get(),
                     theirs[program_replies].get(),
                     theirs[program_end].get()};
  start.environment.push_back(fmt::format("WALLHEAT_REQUESTS_FD={}", start.requests));
  start.environment.push_back(fmt::format("WALLHEAT_REPLIES_FD={}", start.replies));
  for (std::string& word : words) start.argv.push_back(word.data());
  start.argv.push_back(nullptr);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  supervisor_ = ::fork();
  if (supervisor_ == 0) supervise(start);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (supervisor_ < 0)
    throw RunError("the solver command cannot be started: " + system_error_text(error));
  try {
    reader_ = std::jthread([this](const std::stop_token& stop) { read_output(stop); });
  } catch (const std::system_error& no_thread) {
    end_supervisor();
    throw RunError(
        fmt::format("the output of the solver command cannot be read: {}", no_thread.what()));
  }
}

CommandProcess::~CommandProcess() { end_supervisor(); }

void CommandProcess::end_supervisor() {
  requests_ = FileDescriptor();
  ::kill(supervisor_, end_request);
  const auto deadline = CommandClock::now() + max_supervisor_exit_time;
  while (::waitpid(supervisor_, nullptr, WNOHANG) == 0 && CommandClock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void CommandProcess::send(const std::string& line) const {
  std::string_view rest = line;
  while (!rest.empty()) {
    const auto count = ::write(requests_.get(), rest.data(), rest.size());
    if (count < 0 && errno != EINTR) return;
    if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string CommandProcess::receive() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !replies_.empty() || !end_reason_.empty(); });
  if (replies_.empty() && is_not_startable_)
    throw ProgramNotStartable("the program " + end_reason_);
  if (replies_.empty()) throw BrokenProgram("the program " + end_reason_);
  std::string line = std::move(replies_.front());
  replies_.pop_front();
  return line;
}

void CommandProcess::put(std::string line) {
  {
    const std::scoped_lock lock(mutex_);
    // After a violation of the protocol, such as the start of a line that is too long, nothing that
    // follows is a reply.
    if (!end_reason_.empty()) return;
    // A program may send progress faster than it is taken; only the latest counts.
    const auto is_progress = [](const std::string& each) {
      return each.find("\"progress\"") != std::string::npos &&
             each.find("\"done\"") == std::string::npos;
    };
    if (!replies_.empty() && is_progress(replies_.back()) && is_progress(line))
      replies_.back() = std::move(line);
    else if (replies_.size() < max_waiting_replies)
      replies_.push_back(std::move(line));
    else
      end_reason_ = "sent replies without requests";
  }
  changed_.notify_all();
}

void CommandProcess::end(const std::string& reason) {
  {
    const std::scoped_lock lock(mutex_);
    if (end_reason_.empty()) end_reason_ = reason;
  }
  changed_.notify_all();
}

void CommandProcess::take_bytes(std::size_t stream, std::string_view bytes) {
  const bool may_be_reply =
      stream == program_replies || (stream == program_stdout && replies_on_stdout_.value_or(true));
  if (!may_be_reply || (stream == program_replies && replies_on_stdout_.value_or(false)))
    return output_.add(stream == program_stderr ? 1 : 0, bytes);
  auto& [stdout_line, reply_line] = reply_buffers_;
  std::string& buffer = stream == program_stdout ? stdout_line : reply_line;
  buffer += bytes;
  std::size_t end_of_line = 0;
  while ((end_of_line = buffer.find('\n')) != std::string::npos && end_of_line <= max_reply_bytes) {
    std::string line = buffer.substr(0, end_of_line);
    buffer.erase(0, end_of_line + 1);
    const bool is_greeting = line.find("\"ready\"") != std::string::npos;
    if (!replies_on_stdout_ && stream == program_stdout && !is_greeting) {
      output_.add(0, line + '\n');
      continue;
    }
    if (!replies_on_stdout_ && stream == program_replies)
      output_.add(0, std::exchange(stdout_line, {}));
    if (!replies_on_stdout_) replies_on_stdout_ = stream == program_stdout;
    put(std::move(line));
  }
  if (buffer.size() <= max_reply_bytes) return;
  const std::string line = std::exchange(buffer, {});
  if (!replies_on_stdout_ && stream == program_stdout) return output_.add(0, line);
  end(fmt::format("sent a line of more than {} bytes", max_reply_bytes));
}

/// Reads the output of the program until the program has ended.
void CommandProcess::read_output(const std::stop_token& stop) {
  std::optional<CommandClock::time_point> closed_at;  // when the program closed its replies
  std::array<bool, 4> is_open{true, true, true, true};
  // Reads what has arrived, as long as the program does not write faster than it is read.
  const auto read_some = [&](std::size_t stream) {
    std::array<char, 16384> bytes{};
    for (int part = 0; part < 8; ++part) {
      const ssize_t count = ::read(inputs_.at(stream).get(), bytes.data(), bytes.size());
      if (count == 0) is_open.at(stream) = false;
      if (count <= 0) return false;
      take_bytes(stream, {bytes.data(), static_cast<std::size_t>(count)});
    }
    return true;
  };
  // The message of the supervisor is read even if it arrives together with the request to stop, so
  // that the last output of the program is logged.
  for (bool must_stop = false; !must_stop;) {
    must_stop = stop.stop_requested();
    std::array<pollfd, 4> files{};
    for (std::size_t stream = 0; stream < files.size(); ++stream)
      files.at(stream) = {is_open.at(stream) ? inputs_.at(stream).get() : -1, POLLIN, 0};
    constexpr int interval_ms = 200;
    if (::poll(files.data(), files.size(), interval_ms) < 0) continue;
    for (const std::size_t stream : {program_stdout, program_stderr, program_replies})
      if (files.at(stream).revents != 0) (void)read_some(stream);
    if (files[program_end].revents != 0) {
      // Nobody writes any more.
      for (const std::size_t stream : {program_stdout, program_stderr, program_replies})
        while (is_open.at(stream) && read_some(stream)) {
        }
      if (!replies_on_stdout_) output_.add(0, std::exchange(reply_buffers_[0], {}));
      ProgramEnd found;
      const bool is_known =
          ::read(inputs_[program_end].get(), &found, sizeof found) == sizeof found;
      std::string reason = is_known
                               ? describe_end(found, found.has_folder ? program_ : folder_.string())
                               : "was lost: its supervisor was killed";
      if (is_known && found.exec_error == 0 && !replies_on_stdout_)
        reason += " before it sent {\"ready\": true}";
      if (is_known && found.has_folder &&
          (found.exec_error == ENOENT || found.exec_error == EACCES)) {
        const std::scoped_lock lock(mutex_);
        is_not_startable_ = true;
      }
      const std::string last_line = output_.finish();
      return end(last_line.empty() ? reason : reason + "; its stderr ends with: " + last_line);
    }
    const bool is_closed = replies_on_stdout_
                               ? !is_open[*replies_on_stdout_ ? program_stdout : program_replies]
                               : !is_open[program_stdout] && !is_open[program_replies];
    if (is_closed && !closed_at) closed_at = CommandClock::now();
    if (closed_at && CommandClock::now() - *closed_at > program_exit_time)
      end("closed the descriptor on which it sends replies");
  }
}

}  // namespace wallheat
