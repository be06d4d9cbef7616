#include "io/process_setup.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/text.hpp"

namespace wallheat {
namespace {

constexpr std::intptr_t huge_page = 2 << 20;

// The limit belongs to the process, so its original value does, too.
std::uint64_t open_files_before_raise = 0;

/// Moves the end of the heap to `distance` before the start of a huge page. Returns the start of
/// that huge page.
char* move_heap_before_huge_page(std::intptr_t distance) {
  const auto end = reinterpret_cast<std::intptr_t>(::sbrk(0));
  (void)::sbrk((-distance - end) & (huge_page - 1));
  return static_cast<char*>(::sbrk(0)) + distance;
}

/// Returns true if unused memory is provided in huge pages: one page fault is enough for 16 small
/// pages. Settings of the system, of the process and of its cgroup may forbid huge pages.
bool comes_in_huge_pages(volatile char* memory) {
  constexpr int pages = 16;
  constexpr int page = 4096;
  const auto faults = [] {
    rusage used{};
    (void)::getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  const long before = faults();
  for (int number = 0; number < pages; ++number) memory[number * page] = 0;
  return faults() == before + 1;
}

}  // namespace

void raise_process_limits() {
  (void)std::signal(SIGXFSZ, SIG_IGN);
  // The hard limit may be so large that programs that iterate over all descriptors take too long.
  constexpr rlim_t enough = 65536;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  open_files_before_raise = files.rlim_cur;
  if (files.rlim_cur >= enough) return;
  files.rlim_cur = std::min(files.rlim_max, enough);
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

std::uint64_t original_open_files() { return open_files_before_raise; }

void close_fds_except(int wanted) {
  std::vector<int> inherited;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = parse_number<int>(entry.path().filename().string()).value_or(-1);
    if (fd > STDERR_FILENO && fd != wanted) inherited.push_back(fd);
  }
  for (const int fd : inherited) ::close(fd);  // one of them is the iterator's, closed already
}

// The tunables of glibc, GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864, have
// the same effect if they are set before a program starts, but they do not replace this function. A
// program can set them only for its children, or for itself by executing itself again. CPU time in
// ms (user and system, the least of 15 runs in alternation, huge pages by madvise):
//
//                           this     tunables for           executed again
//                           code     solver processes only  with tunables
//   solve, jacobi            38               39                   43
//   solve, fastforward       16               19                   22
//   solve, steady            11               14                   16
//   run of 1 steady plan     25               28                   32
//   run of 150               326          (338 with hugetlb, 331 with both, set for all processes)
//
// hugetlb without top_pad leaves most of a growing heap in small pages: 12.5 ms for `solve` with
// steady if it is set for the process itself, 33 ms for the run of one plan.
void enable_huge_page_heap() {
  constexpr std::intptr_t room = 64 << 20;  // address space; unused parts take no memory
  // The part of the heap to which malloc() writes before madvise() is called has small pages
  // already.
  constexpr std::intptr_t small = 384 << 10;
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the maximum of glibc
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  char* const begin = move_heap_before_huge_page(small);
  // Grows the heap in one step: a heap that grows in small steps gets small pages.
  ::mallopt(M_TOP_PAD, room);
  // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): volatile, so that it is called
  void* const volatile grown = std::malloc(small / 2);
  std::free(grown);  // NOLINT(cppcoreguidelines-no-malloc)
  ::mallopt(M_TOP_PAD, 128 << 10);
  const bool has_grown = static_cast<char*>(::sbrk(0)) >= begin + room - small;
  if (has_grown && ::madvise(begin, room - small, MADV_HUGEPAGE) == 0 && comes_in_huge_pages(begin))
    return;
  // With small pages fresh memory is better, because calloc() need not clear it.
  (void)::malloc_trim(0);
}

}  // namespace wallheat
