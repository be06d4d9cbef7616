#include "simulation/cluster/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace wallheat::simulation {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::size_t guard_bytes = 4096;

#ifdef __SANITIZE_ADDRESS__
void begin_switch(void** frames, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(frames, stack, bytes);
}
void end_switch(void* frames, const void** stack, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(frames, stack, bytes);
}
#else
void begin_switch(void** /*frames*/, const void* /*stack*/, std::size_t /*bytes*/) {}
void end_switch(void* /*frames*/, const void** /*stack*/, std::size_t* /*bytes*/) {}
#endif

}  // namespace

StackPool::~StackPool() {
  for (void* const stack : free_) ::munmap(stack, stack_bytes);
}

void* StackPool::take() {
  if (!free_.empty()) {
    void* const stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void* const stack =
      ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // An overflow ends the program rather than writing elsewhere.
  if (stack == MAP_FAILED || ::mprotect(stack, guard_bytes, PROT_NONE) != 0) {
    std::perror("no memory for a stack");
    std::exit(EXIT_FAILURE);
  }
  return stack;
}

void StackPool::give_back(void* stack) { free_.push_back(stack); }

Fiber::Fiber(StackPool& stacks, std::function<void()> work)
    : stacks_(stacks), work_(std::move(work)) {}

Fiber::~Fiber() {
  if (stack_ != nullptr) stacks_.give_back(stack_);
}

void Fiber::forget() {
  ended_ = true;
  work_ = nullptr;
}

// makecontext passes integers only.
void Fiber::enter(unsigned int high, unsigned int low) {
  auto* const fiber =
      reinterpret_cast<Fiber*>((static_cast<std::uintptr_t>(high) << 32U) | low);  // NOLINT
  end_switch(nullptr, &fiber->caller_stack_, &fiber->caller_bytes_);
  fiber->work_();
  fiber->work_ = nullptr;
  fiber->ended_ = true;
  fiber->leave();
}

void Fiber::resume() {
  if (stack_ == nullptr) {
    stack_ = stacks_.take();
    ::getcontext(&here_);
    here_.uc_stack.ss_sp = stack_;
    here_.uc_stack.ss_size = stack_bytes;
    here_.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);           // NOLINT
    ::makecontext(&here_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,  // NOLINT
                  static_cast<unsigned int>(address >> 32U),
                  static_cast<unsigned int>(address & 0xffffffffU));
  }
  swap_exceptions();
  void* frames = nullptr;
  begin_switch(&frames, stack_, stack_bytes);
  ::swapcontext(&caller_, &here_);
  end_switch(frames, nullptr, nullptr);
  swap_exceptions();
}

void Fiber::leave() {
  void* frames = nullptr;
  begin_switch(ended_ ? nullptr : &frames, caller_stack_, caller_bytes_);
  ::swapcontext(&here_, &caller_);
  end_switch(frames, &caller_stack_, &caller_bytes_);
}

/// Each fiber has its own exceptions, also while another runs in the middle of a handler.
void Fiber::swap_exceptions() {
  std::swap(*reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()), exceptions_);  // NOLINT
}

}  // namespace wallheat::simulation
