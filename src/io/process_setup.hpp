#pragma once

#include <cstdint>

namespace wallheat {

// Settings of a process that reads and solves plans. Call these functions once, before any thread
// starts.

/// Makes a write beyond the limit of the file size fail with an error instead of killing the
/// process. Raises the soft limit of open files, usually 1024, to the hard limit, but at most to
/// 65536: a worker needs two files per solver process, and a host may have hundreds of solver
/// processes.
void raise_process_limits();

/// Returns the soft limit of open files before raise_process_limits() raised it, for programs that
/// this process starts; 0 if that function was not called.
[[nodiscard]] std::uint64_t original_open_files();

/// Closes all file descriptors except for stdin, stdout, stderr and `wanted`.
void close_fds_except(int wanted);

/// Makes malloc() keep freed memory, in huge pages if the kernel provides them. Plans have similar
/// sizes, and in a virtual machine the page faults for the small pages of one plan may take longer
/// than its solution. All threads share one heap.
void enable_huge_page_heap();

}  // namespace wallheat
