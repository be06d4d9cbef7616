#pragma once

#include <ucontext.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace wallheat::simulation {

/// Stacks are used again and again: mapping them anew would cost more than what runs on them.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();
  [[nodiscard]] void* take();
  void give_back(void* stack);

 private:
  std::vector<void*> free_;
};

/// A thread that runs only when it is told to, on the thread of whoever tells it.
class Fiber {
 public:
  /// `work` must not throw.
  Fiber(StackPool& stacks, std::function<void()> work);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// It must have ended, or never have begun.
  ~Fiber();

  /// Runs it until it calls leave() or ends. Not to be called by a fiber.
  void resume();
  /// To be called by the fiber itself: goes back to whoever resumed it.
  void leave();
  [[nodiscard]] bool begun() const { return stack_ != nullptr; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// One that has not begun never will.
  void forget();

 private:
  /// What the C++ runtime library keeps for each thread: the exceptions that are being handled.
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static void enter(unsigned int high, unsigned int low);
  void swap_exceptions();

  StackPool& stacks_;
  std::function<void()> work_;
  void* stack_ = nullptr;
  ucontext_t here_{};
  ucontext_t caller_{};
  Exceptions exceptions_;
  bool ended_ = false;
  // Where the stack lies from which it was resumed: the address sanitizer must be told of each
  // change of stacks.
  const void* caller_stack_ = nullptr;
  std::size_t caller_bytes_ = 0;
};

}  // namespace wallheat::simulation
