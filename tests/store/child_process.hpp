#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>

namespace wallheat::store_test {

/// Starts a process that runs `work` and ends with status 0, or 3 if it throws.
template <class Work>
pid_t start_child(Work work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
    ::_exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
    ::_exit(3);
  }
}

/// The status of waitpid.
inline int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Runs `work` in a process that is killed right after it.
template <class Work>
void run_and_kill(Work work) {
  const int status = wait_for(start_child([&] { work([] { ::kill(::getpid(), SIGKILL); }); }));
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
}

/// Numbers that a child writes and its parent still reads after the child was killed.
template <std::size_t count>
class SharedNumbers {
 public:
  SharedNumbers()
      : numbers_(static_cast<std::atomic<long>*>(::mmap(nullptr, sizeof(std::atomic<long>) * count,
                                                        PROT_READ | PROT_WRITE,
                                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    for (std::size_t i = 0; i < count; ++i) new (&numbers_[i]) std::atomic<long>(0);
  }
  ~SharedNumbers() { ::munmap(numbers_, sizeof(std::atomic<long>) * count); }
  SharedNumbers(const SharedNumbers&) = delete;
  SharedNumbers& operator=(const SharedNumbers&) = delete;

  std::atomic<long>& operator[](std::size_t i) { return numbers_[i]; }

 private:
  std::atomic<long>* numbers_;
};

/// A pipe for single bytes between two processes.
class Signal {
 public:
  Signal() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void send() {
    const char byte = 'x';
    if (::write(ends_[1], &byte, 1) != 1) throw std::runtime_error("pipe is closed");
  }
  void wait() {
    char byte = 0;
    if (::read(ends_[0], &byte, 1) != 1) throw std::runtime_error("pipe is closed");
  }

 private:
  int ends_[2];
};

}  // namespace wallheat::store_test
