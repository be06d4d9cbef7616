#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

namespace wallheat {

/// Time and threads, as everything has them that waits: those of the system, or those of a
/// simulation, whose time is a number and whose threads take turns.
class Runtime {
 public:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  /// As std::condition_variable_any.
  class Condition {
   public:
    virtual ~Condition() = default;
    /// Wakes all that wait.
    virtual void notify() = 0;
    /// Waits until `done()`, which is called with the lock held.
    void wait(Lock& lock, const std::function<bool()>& done) {
      (void)wait_for(lock, {}, Clock::duration::max(), done);
    }
    /// The same, but no longer than until a stop is requested. Returns done().
    [[nodiscard]] bool wait(Lock& lock, const std::stop_token& stop,
                            const std::function<bool()>& done) {
      return wait_for(lock, stop, Clock::duration::max(), done);
    }
    /// The same, but no longer than `timeout`.
    [[nodiscard]] virtual bool wait_for(Lock& lock, const std::stop_token& stop,
                                        Clock::duration timeout,
                                        const std::function<bool()>& done) = 0;
  };

  /// Its destructor requests a stop and waits for its end.
  class Thread {
   public:
    virtual ~Thread() = default;
  };

  virtual ~Runtime() = default;
  [[nodiscard]] virtual Clock::time_point now() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Condition> make_condition() = 0;
  /// `work` must not throw.
  [[nodiscard]] virtual std::unique_ptr<Thread> start_thread(
      std::function<void(const std::stop_token&)> work) = 0;
};

/// The system's. It has no state.
[[nodiscard]] Runtime& system_runtime();

}  // namespace wallheat
