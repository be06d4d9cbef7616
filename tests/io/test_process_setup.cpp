#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>

#include "io/process_setup.hpp"

namespace wallheat {
namespace {

constexpr std::size_t plan_bytes = 16 << 20;
constexpr long few_faults = 400;  // of the 4096 pages of a plan

/// Returns the number of page faults that `use` causes in a child process, in units of 100, rounded
/// down; at most 25500. The child process may reconfigure its heap.
long faults_in_child(const std::function<void()>& prepare, const std::function<void()>& use) {
  const auto faults = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    prepare();
    const long before = faults();
    use();
    ::_exit(static_cast<int>((faults() - before) / 100));
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  return 100L * WEXITSTATUS(status);
}

void keep_heap_in_small_pages() {
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  enable_huge_page_heap();
}

void* volatile allocated = nullptr;  // so that the compiler does not leave it out

void solve_a_plan() {
  allocated = std::malloc(plan_bytes);
  std::memset(allocated, 1, plan_bytes);
  std::free(allocated);
}

class HugePageHeapTest : public testing::Test {
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers replace the heap";
#endif
  }
};

TEST_F(HugePageHeapTest, KeepsFreedMemoryForNextPlan) {
  for (const auto& keep_heap : {keep_heap_in_small_pages, enable_huge_page_heap}) {
    const auto prepare = [&] {
      keep_heap();
      solve_a_plan();
    };
    EXPECT_LT(faults_in_child(prepare, solve_a_plan), few_faults);
  }
}

TEST_F(HugePageHeapTest, LeavesZerosUntouchedWithoutHugePages) {
  const auto ask_for_zeros = [] { allocated = std::calloc(plan_bytes, 1); };
  EXPECT_LT(faults_in_child(keep_heap_in_small_pages, ask_for_zeros), few_faults);
}

}  // namespace
}  // namespace wallheat
