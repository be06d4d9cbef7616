#include <gtest/gtest.h>
#include <sys/mman.h>
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

long page_faults() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

/// The page faults that something takes in a child process, whose heap may be moved; up to 255
/// hundreds of them, rounded down.
long faults_in_child(const std::function<void()>& prepare, const std::function<void()>& use) {
  const pid_t child = ::fork();
  if (child == 0) {
    prepare();
    const long before = page_faults();
    use();
    ::_exit(static_cast<int>((page_faults() - before) / 100));
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  return 100L * WEXITSTATUS(status);
}

void refuse_huge_pages() { ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

/// Writes into what was mapped apart from the heap.
void use_pages_that_ask_to_be_huge() {
  void* const memory =
      ::mmap(nullptr, 2 * plan_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::madvise(memory, 2 * plan_bytes, MADV_HUGEPAGE);
  std::memset(memory, 1, 2 * plan_bytes);
}

void* volatile allocated = nullptr;  // so that the compiler does not leave it out

TEST(Heap, takes_few_page_faults_for_a_plan) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have a heap of their own";
#endif
  if (faults_in_child([] {}, use_pages_that_ask_to_be_huge) > 2 * few_faults)
    GTEST_SKIP() << "the kernel gives no huge pages";
  EXPECT_LT(faults_in_child(keep_heap_in_huge_pages,
                            [] {
                              allocated = std::malloc(plan_bytes);
                              std::memset(allocated, 1, plan_bytes);
                            }),
            few_faults);
}

TEST(Heap, keeps_what_one_plan_frees_for_the_next) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have a heap of their own";
#endif
  const auto solve_a_plan = [] {
    allocated = std::malloc(plan_bytes);
    std::memset(allocated, 1, plan_bytes);
    std::free(allocated);
  };
  const auto prepare = [&] {
    refuse_huge_pages();
    keep_heap_in_huge_pages();
    solve_a_plan();
  };
  EXPECT_LT(faults_in_child(prepare, solve_a_plan), few_faults);
}

TEST(Heap, leaves_zeros_untouched_without_huge_pages) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have a heap of their own";
#endif
  const auto prepare = [] {
    refuse_huge_pages();
    keep_heap_in_huge_pages();
  };
  EXPECT_LT(faults_in_child(prepare, [] { allocated = std::calloc(plan_bytes, 1); }), few_faults);
}

}  // namespace
}  // namespace wallheat
