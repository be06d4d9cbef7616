#include "core/runtime.hpp"

#include <condition_variable>
#include <thread>
#include <utility>

namespace wallheat {
namespace {

class SystemCondition : public Runtime::Condition {
 public:
  void notify() override { changed_.notify_all(); }
  bool wait_for(Runtime::Lock& lock, const std::stop_token& stop, Runtime::Clock::duration timeout,
                const std::function<bool()>& done) override {
    // The end of an endless time would be before its beginning.
    if (timeout == Runtime::Clock::duration::max()) return changed_.wait(lock, stop, done);
    return changed_.wait_for(lock, stop, timeout, done);
  }

 private:
  std::condition_variable_any changed_;
};

class SystemThread : public Runtime::Thread {
 public:
  explicit SystemThread(std::function<void(const std::stop_token&)> work)
      : thread_([work = std::move(work)](const std::stop_token& stop) { work(stop); }) {}

 private:
  std::jthread thread_;
};

class SystemRuntime : public Runtime {
 public:
  [[nodiscard]] Clock::time_point now() const override { return Clock::now(); }
  [[nodiscard]] std::unique_ptr<Condition> make_condition() override {
    return std::make_unique<SystemCondition>();
  }
  [[nodiscard]] std::unique_ptr<Thread> start_thread(
      std::function<void(const std::stop_token&)> work) override {
    return std::make_unique<SystemThread>(std::move(work));
  }
};

}  // namespace

Runtime& system_runtime() {
  static SystemRuntime runtime;
  return runtime;
}

}  // namespace wallheat
