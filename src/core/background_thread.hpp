#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace wallheat {

/// A thread that runs functions one by one, in the order of submission. The thread is started once,
/// in the constructor, so that a later submission cannot fail because the user has reached the
/// limit of threads. The destructor runs all functions that were submitted.
class BackgroundThread {
 public:
  /// Throws std::system_error if the thread cannot be started.
  BackgroundThread() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

  /// Runs `work` in the thread, after all functions that were submitted before. Returns a future
  /// that receives the exception of `work`, if it throws one. Wait for the future before you
  /// destroy anything that `work` uses.
  [[nodiscard]] std::future<void> submit(std::function<void()> work) {
    std::packaged_task<void()> task(std::move(work));
    std::future<void> result = task.get_future();
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    added_.notify_one();
    return result;
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (added_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
      std::packaged_task<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any added_;
  std::deque<std::packaged_task<void()>> tasks_;
  std::jthread thread_;  // last, because it uses the members above
};

}  // namespace wallheat
