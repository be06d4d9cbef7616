#include <gmock/gmock.h>

#include <functional>
#include <system_error>
#include <vector>

#include "queue/task_pool.hpp"

namespace wallheat {
namespace {

/// Can start two threads, which run when somebody waits for them, or when they are joined.
class TwoThreads final : public Runtime {
 public:
  class SomeCondition final : public Condition {
   public:
    explicit SomeCondition(TwoThreads& runtime) : runtime_(runtime) {}
    void notify() override {}
    bool wait_for(Lock& lock, const std::stop_token&, Clock::duration,
                  const std::function<bool()>& done) override {
      lock.unlock();
      for (auto& work : std::exchange(runtime_.works_, {})) work();
      lock.lock();
      return done();
    }

   private:
    TwoThreads& runtime_;
  };
  class SomeThread final : public Thread {
   public:
    explicit SomeThread(TwoThreads& runtime) : runtime_(runtime) {}
    SomeThread(const SomeThread&) = delete;
    SomeThread& operator=(const SomeThread&) = delete;
    ~SomeThread() override { runtime_.too_late_ += runtime_.works_.size(); }

   private:
    TwoThreads& runtime_;
  };

  [[nodiscard]] Clock::time_point now() const override { return {}; }
  [[nodiscard]] std::unique_ptr<Condition> make_condition() override {
    return std::make_unique<SomeCondition>(*this);
  }
  [[nodiscard]] std::unique_ptr<Thread> start_thread(
      std::function<void(const std::stop_token&)> work) override {
    if (works_.size() == 2)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    works_.push_back([work = std::move(work)] { work({}); });
    return std::make_unique<SomeThread>(*this);
  }

  std::vector<std::function<void()>> works_;
  std::size_t too_late_ = 0;  ///< threads that had not run yet when they were joined
};

// What they refer to is gone when the constructor is left.
TEST(TaskPool, waits_for_its_threads_where_another_cannot_be_started) {
  TwoThreads runtime;
  int made = 0;
  const auto make_job = [&](std::size_t) -> PlanJob {
    ++made;
    throw std::runtime_error("no solver");
  };
  EXPECT_THROW(TaskPool(3, make_job, runtime), std::system_error);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(runtime.too_late_, 0U);
}

}  // namespace
}  // namespace wallheat
