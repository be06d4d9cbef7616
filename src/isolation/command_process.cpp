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
#include <ctime>
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

constexpr std::size_t max_line_bytes = 65536;
constexpr std::size_t max_waiting_replies = 1000;
constexpr std::size_t max_pipe_bytes = 65536;  // the capacity of each pipe: one read empties it
// Limits of the output that is forwarded to the log.
constexpr std::size_t max_logged_bytes = 400;  // of a line
constexpr double max_logged_burst = 50;        // lines
constexpr double max_logged_rate = 10;         // lines per second
constexpr std::size_t max_last_stderr_lines = 10;

constexpr const char* slot_folder = "/dev/shm/wallheat-slot";  // the names of folders begin so
constexpr std::time_t min_stale_age_s = 60;

// Positions in CommandProcess::pipes_. The first three are streams of lines.
enum : std::size_t {
  program_stderr,
  program_stdout,
  program_replies,
  program_end,
  program_requests
};

/// Signal by which the kernel notifies a supervisor of the death of its parent, and by which the
/// parent requests the end.
constexpr int end_request = SIGUSR1;

// Exit statuses of a program that cannot be started, as in a shell.
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

/// Returns the OOM score of an ordinary process of this user. Solver processes have raised theirs.
std::string ordinary_oom_score() {
  std::string score;
  std::ifstream("/proc/" + std::to_string(::getppid()) + "/oom_score_adj") >> score;
  return score.empty() ? "0" : score;
}

/// Everything that the supervisor and the program need. It is prepared before they are forked.
struct ProgramStart {
  const std::filesystem::path& folder;
  const SolverCommand& command;
  const std::array<FileDescriptor, 5>& pipes;  ///< their ends
  std::string oom_score = ordinary_oom_score();
  pid_t parent = ::getpid();
};

/// Ends a forked process that cannot do its task: prints why, with the reason in errno, where the
/// program prints its errors. Uses no lock that another thread may have held at the fork.
[[noreturn]] void exit_with_error(const ProgramStart& start, const std::string& what, int status) {
  const std::string line = fmt::format("{}: {}\n", what, system_error_text(errno));
  (void)!::write(start.pipes[program_stderr].get(), line.data(), line.size());
  ::_exit(status);
}

/// Becomes the program, with the signals, limits and OOM score of an ordinary program.
[[noreturn]] void become_program(const ProgramStart& start, pid_t supervisor) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(exit_failed);
  for (int signal = 1; signal < SIGRTMIN; ++signal) (void)::signal(signal, SIG_DFL);
  const int requests = start.pipes[program_requests].get();
  const int replies = start.pipes[program_replies].get();
  ::dup2(requests, STDIN_FILENO);
  ::dup2(start.pipes[program_stdout].get(), STDOUT_FILENO);
  ::dup2(start.pipes[program_stderr].get(), STDERR_FILENO);
  for (const int fd : {requests, replies}) ::fcntl(fd, F_SETFD, 0);
  std::vector<std::string> environment = start.command.environment;
  for (const char* const library : {"OMP", "NUMBA"})
    environment.push_back(fmt::format("{}_NUM_THREADS={}", library, start.command.cores_per_slot));
  environment.push_back(fmt::format("WALLHEAT_REQUESTS_FD={}", requests));
  environment.push_back(fmt::format("WALLHEAT_REPLIES_FD={}", replies));
  for (std::string& variable : environment) ::putenv(variable.data());
  std::ofstream("/proc/self/oom_score_adj") << start.oom_score;
  rlimit files{};
  if (start.command.open_files > 0 && ::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, start.command.open_files);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  const sigset_t none = set_of({});
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<std::string> words = start.command.words;
  ::execvp(words.front().c_str(), pointers_to(words).data());
  exit_with_error(start, words.front() + " cannot be started",
                  errno == ENOENT ? exit_not_found : exit_not_executable);
}

/// Reaps the children of this process that end, until `program` has ended, and sets `status` then.
/// With `kills_all`, kills all children, until none is left: the kernel makes a process whose
/// parent has ended a child of the supervisor, so the list of children is read again and again.
/// Returns false if `limit` has passed before that, because a process that is blocked in the
/// kernel, or that has become another user, does not end.
bool reap(pid_t program, int& status, std::chrono::seconds limit, bool kills_all = false) {
  constexpr timespec interval{0, 20'000'000};
  const sigset_t awaited = set_of({SIGCHLD});
  const auto deadline = CommandClock::now() + limit;
  for (bool has_ended = false;;) {
    std::ifstream children("/proc/thread-self/children");
    for (pid_t child = 0; kills_all && children >> child;) ::kill(child, SIGKILL);
    int child_status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &child_status, WNOHANG)) > 0)
      if (ended == program) {
        status = child_status;
        has_ended = true;
      }
    const bool is_none_left = ended < 0;
    if (is_none_left || (has_ended && !kills_all)) return true;
    if (CommandClock::now() >= deadline) return false;
    (void)::sigtimedwait(&awaited, nullptr, &interval);
  }
}

/// Runs the supervisor: starts the program, and ends everything that it has started. Sends the wait
/// status of the program. All signals are blocked.
[[noreturn]] void supervise(const ProgramStart& start) noexcept {
  const pid_t self = ::getpid();
  ::setpgid(0, 0);
  (void)::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, end_request);
  if (::getppid() != start.parent) ::_exit(exit_failed);
  // This process creates the folder, because it outlives its parent, so that it can remove it.
  if (::mkdir(start.folder.c_str(), S_IRWXU) != 0)
    exit_with_error(start, start.folder.string() + " cannot be created", exit_failed);
  const pid_t program = ::fork();
  if (program == 0) become_program(start, self);
  if (program < 0)
    exit_with_error(start, start.command.words.front() + " cannot be started", exit_failed);
  const int end = start.pipes[program_end].get();
  // The socket of a solver process stays open, so that the worker can wait for this process.
  close_fds_except(end);
  const FileDescriptor lock(::open(start.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)::flock(lock.get(), LOCK_EX | LOCK_NB);
  ::setpgid(program, program);
  int status = 0;
  bool must_end = false;
  const sigset_t awaited = set_of({SIGCHLD, end_request});
  while (!must_end && !reap(program, status, std::chrono::seconds(0)))
    must_end = ::sigwaitinfo(&awaited, nullptr) == end_request;
  // The requests of a program that must end have ended, too, so it should end by itself.
  if (must_end && !reap(program, status, program_exit_time)) {
    ::kill(-program, SIGTERM);
    ::kill(-program, SIGCONT);
    reap(program, status, program_exit_time);
  }
  ::kill(-program, SIGKILL);
  reap(program, status, program_exit_time, true);
  (void)!::write(end, &status, sizeof status);
  while (!must_end) must_end = ::sigwaitinfo(&awaited, nullptr) == end_request;
  std::error_code ignored;
  std::filesystem::remove_all(start.folder, ignored);
  ::_exit(exit_done);
}

/// Removes the folders of killed slots whose supervisors were killed, too.
void remove_stale_folders() {
  const std::filesystem::path parent = std::filesystem::path(slot_folder).parent_path();
  for (const std::string& name : names_starting_with(slot_folder)) {
    const std::filesystem::path path = parent / name;
    const auto info = stat_if_exists(path);
    // A new folder is not locked yet.
    if (!is_temporary_name(name, slot_folder) || !info || info->st_uid != ::geteuid() ||
        std::time(nullptr) - info->st_mtime < min_stale_age_s)
      continue;
    const FileDescriptor folder(
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::error_code ignored;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(path, ignored);
  }
}

/// Returns true if a line of the program is progress, and not a reply that ends a plan.
bool is_progress(const std::string& line) {
  return line.find("\"progress\"") != std::string::npos &&
         line.find("\"done\"") == std::string::npos;
}

}  // namespace

void OutputForwarder::begin_plan(const std::string& id) {
  prefix_ = "plan " + id;
  last_stderr_line_.clear();
  omitted_stderr_lines_.clear();
}

void OutputForwarder::print(std::string_view line) const {
  print_error("wallheat: {}: {}", escape_control_chars(prefix_), escape_control_chars(line));
}

void OutputForwarder::log_omission(std::size_t lines) {
  if (lines > 0)
    print_error("wallheat: solver command: {} of output omitted", count_text(lines, "line"));
  omitted_lines_ = 0;
}

void OutputForwarder::log(std::string_view line, bool is_stderr) {
  line = line.substr(0, max_logged_bytes);
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
  log_omission(omitted_lines_);
  omitted_stderr_lines_.clear();
  print(line);
}

std::string OutputForwarder::finish() {
  log_omission(omitted_lines_ - omitted_stderr_lines_.size());
  for (const std::string& line : std::exchange(omitted_stderr_lines_, {})) print(line);
  return last_stderr_line_;
}

CommandProcess::CommandProcess(const SolverCommand& command)
    : folder_(new_temporary_path(slot_folder)) {
  std::array<FileDescriptor, 5> theirs;
  for (std::size_t pipe = 0; pipe < theirs.size(); ++pipe) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw RunError("no pipe to the solver command: " + system_error_text(errno));
    pipes_.at(pipe) = FileDescriptor(ends[0]);
    theirs.at(pipe) = FileDescriptor(ends[1]);
    ::fcntl(ends[0], F_SETFL, pipe == program_requests ? 0 : O_NONBLOCK);
    ::fcntl(ends[0], F_SETPIPE_SZ, max_pipe_bytes);
  }
  std::swap(pipes_[program_requests], theirs[program_requests]);
  remove_stale_folders();
  reader_ = std::jthread([this] { read_output(); });
  const ProgramStart start{folder_, command, theirs};
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  supervisor_ = ::fork();
  if (supervisor_ == 0) supervise(start);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // The reader ends when `theirs` are closed.
  if (supervisor_ < 0)
    throw RunError("the solver command cannot be started: " + system_error_text(error));
}

CommandProcess::~CommandProcess() {
  pipes_[program_requests] = FileDescriptor();
  ::kill(supervisor_, end_request);
  const auto deadline = CommandClock::now() + max_supervisor_exit_time;
  while (::waitpid(supervisor_, nullptr, WNOHANG) == 0) {
    if (CommandClock::now() > deadline) ::kill(supervisor_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void CommandProcess::send(const std::string& id, const std::string& line) {
  {
    const std::scoped_lock lock(mutex_);
    if (!std::ranges::all_of(replies_, is_progress))
      throw BrokenProgram("the program sent replies without requests");
    replies_.clear();  // progress of the previous plan
    output_.begin_plan(id);
  }
  // The pipe is empty, and has space for a request.
  (void)!::write(pipes_[program_requests].get(), line.data(), line.size());
}

std::string CommandProcess::receive(std::chrono::seconds start_limit) {
  std::unique_lock lock(mutex_);
  const auto has_arrived = [this] { return !replies_.empty() || end_; };
  constexpr std::chrono::seconds patience{20};
  if (start_limit < no_limit && !changed_.wait_for(lock, patience, has_arrived))
    print_error(
        "wallheat: solver command: the program has not sent {{\"ready\": true}} for {} s; after {} "
        "s "
        "it is killed",
        patience.count(), start_limit.count());
  if (!changed_.wait_for(lock, start_limit - patience, has_arrived))
    throw BrokenProgram(fmt::format("the program did not send {{\"ready\": true}} within {} s",
                                    start_limit.count()));
  if (replies_.empty()) std::rethrow_exception(end_);
  std::string line = std::move(replies_.front());
  replies_.pop_front();
  return line;
}

/// Records why no more replies arrive. Only the first reason counts. Call this with mutex_ locked.
template <class Error>
void CommandProcess::end(const std::string& reason) {
  if (!end_) end_ = std::make_exception_ptr(Error("the program " + reason));
  changed_.notify_all();
}

/// Logs a line, or passes it to receive(). Call this with mutex_ locked.
void CommandProcess::take_line(std::size_t stream, std::string line) {
  // The first line of the protocol determines on which stream the program replies.
  const bool is_greeting = line.find("\"ready\"") != std::string::npos;
  if (!reply_stream_ && (stream == program_replies || (stream == program_stdout && is_greeting)))
    reply_stream_ = stream;
  if (stream != reply_stream_) return output_.log(line, stream == program_stderr);
  if (line.size() > max_line_bytes)
    return end(fmt::format("sent a line of more than {} bytes", max_line_bytes));
  // After a violation of the protocol, such as the start of a line that is too long, nothing that
  // follows is a reply.
  if (end_) return;
  replies_.push_back(std::move(line));
  if (replies_.size() > max_waiting_replies) replies_.pop_front();
  changed_.notify_all();
}

/// Takes the lines of a stream that have arrived, all at once, so that send() knows all of them.
void CommandProcess::take_lines(std::size_t stream) {
  const std::scoped_lock lock(mutex_);
  std::string& text = incomplete_.at(stream);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    take_line(stream, text.substr(begin, end - begin));
  text.erase(0, begin);
  if (text.size() <= max_line_bytes) return;
  if (stream == reply_stream_ || stream == program_replies) take_line(stream, text);
  text.resize(max_line_bytes);  // only the beginning of a line is logged
}

/// Reads the output of the program until the program has ended.
void CommandProcess::read_output() {
  std::array<char, max_pipe_bytes> buffer{};
  for (bool has_ended = false; !has_ended;) {
    std::array<pollfd, 4> files{};
    for (std::size_t pipe = 0; pipe < files.size(); ++pipe)
      files.at(pipe) = {pipes_.at(pipe).get(), POLLIN, 0};
    // The end of a program that closes its replies is reported within this time.
    const bool has_closed_replies = reply_stream_ && pipes_.at(*reply_stream_).get() < 0;
    constexpr int max_exit_ms = std::chrono::milliseconds(max_supervisor_exit_time).count();
    const int ready = ::poll(files.data(), files.size(), has_closed_replies ? max_exit_ms : -1);
    has_ended = files[program_end].revents != 0;
    // Output that the program prints before it replies is logged before the reply is passed on, so
    // with the ID of its plan: streams with replies are read first, and passed on last.
    for (const std::size_t stream : {program_replies, program_stdout, program_stderr}) {
      const ssize_t count = ::read(pipes_.at(stream).get(), buffer.data(), buffer.size());
      if (count == 0) pipes_.at(stream) = FileDescriptor();
      if (count > 0) incomplete_.at(stream).append(buffer.data(), static_cast<std::size_t>(count));
    }
    for (const std::size_t stream : {program_stderr, program_stdout, program_replies})
      take_lines(stream);
    const std::scoped_lock lock(mutex_);
    if (ready == 0) end("closed the descriptor on which it sends replies");
  }
  const std::scoped_lock lock(mutex_);
  for (const std::size_t stream : {program_stderr, program_stdout})
    if (!incomplete_.at(stream).empty() && stream != reply_stream_)
      output_.log(incomplete_.at(stream), stream == program_stderr);
  const std::string last_line = output_.finish();
  const std::string more = last_line.empty() ? "" : "; its stderr ends with: " + last_line;
  int status = 0;
  if (::read(pipes_[program_end].get(), &status, sizeof status) != sizeof status)
    return end("was lost: its supervisor has ended" + more);
  const std::string reason =
      exit_text(status) + (reply_stream_ ? "" : " before it sent {\"ready\": true}") + more;
  const int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (!reply_stream_ && (exit_status == exit_not_found || exit_status == exit_not_executable))
    return end<ProgramNotStartable>(reason);
  end(reason);
}

}  // namespace wallheat
