#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include "core/runtime.hpp"

namespace wallheat {

/// Does what may have to wait, for a disk or a device, in a thread of its own, a piece at a time.
/// A thread that must never wait hands a piece over when the one before is done.
class BackgroundThread {
 public:
  explicit BackgroundThread(Runtime& runtime);
  /// Waits for the piece at hand; what it throws is lost.
  ~BackgroundThread() = default;
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  /// True where no piece is at hand after at most so long. Throws, once, what the last one threw.
  [[nodiscard]] bool is_free_within(std::chrono::milliseconds timeout);
  /// Waits until no piece is at hand; what the last one threw is lost.
  void wait();
  /// Begins with a piece; only where none is at hand.
  void run(std::function<void()> piece);

 private:
  void live(const std::stop_token& stop);

  std::mutex mutex_;
  std::unique_ptr<Runtime::Condition> changed_;
  std::function<void()> piece_;  // empty: free
  std::exception_ptr thrown_;
  std::unique_ptr<Runtime::Thread> thread_;  // last: joined before anything it uses is gone
};

}  // namespace wallheat
