#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_directory.hpp"

namespace wallheat {

inline std::string file_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// Waits until condition() returns true. Throws after five minutes, so that a test fails instead of
/// hanging; ctest would kill it later without a message.
inline void wait_until(const std::string& what, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("waited in vain for " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// A running program, whose output is stored in files. The destructor kills it.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments) {
    std::vector<char*> raw;
    for (const std::string& argument : arguments)
      raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      // Open MPI runs as root only with these variables.
      ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
      ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
      // If the test is a background job of a script, it has inherited that SIGINT is ignored.
      for (const int number : {SIGHUP, SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
      // Open MPI and fontconfig do not free all of their memory, which a build with the leak
      // checker would report.
      ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
      if (std::freopen((output_ / "out").c_str(), "w", stdout) == nullptr ||
          std::freopen((output_ / "err").c_str(), "w", stderr) == nullptr) {
        ::_exit(126);
      }
      ::execvp(raw[0], raw.data());
      ::_exit(127);
    }
  }
  ~Process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      (void)wait();
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);  // kill(-1) would send the signal to every process
  }

  /// Waits for the end of the program. Returns its exit status, or 128 + the number of the signal
  /// that killed it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  [[nodiscard]] std::string out() const { return file_text(output_ / "out"); }
  [[nodiscard]] std::string err() const { return file_text(output_ / "err"); }

 private:
  TemporaryDirectory output_;
  pid_t pid_ = -1;
};

struct Finished {
  int status;
  std::string out;
  std::string err;
};

/// Runs a program to completion.
inline Finished run_program(const std::vector<std::string>& arguments) {
  Process process(arguments);
  const int status = process.wait();
  return {status, process.out(), process.err()};
}

/// Returns a bash script that runs in a directory. In the script, the command `wallheat` starts
/// `program`, and $program contains its path.
inline std::string script_text(const std::filesystem::path& directory, const std::string& program,
                               const std::string& script) {
  return "cd '" + directory.string() + "'; program='" + program +
         "'; wallheat() { \"$program\" \"$@\"; }\n" + script;
}

/// Runs a script_text() to completion, or for at most five minutes.
inline Finished run_script(const std::filesystem::path& directory, const std::string& program,
                           const std::string& script) {
  return run_program({"timeout", "300", "bash", "-c", script_text(directory, program, script)});
}

}  // namespace wallheat
