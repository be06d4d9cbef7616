#pragma once

namespace wallheat {

// How a process that reads and solves plans is set up, once, before threads start.

/// From now on a write beyond the limit on the size of a file fails, with a sentence, instead of
/// killing. The soft limit on open files, usually 1024, becomes the hard one: each solver process
/// of a worker takes two files, and a node may have hundreds.
void raise_process_limits();

/// From now on memory that is freed is kept, and comes in huge pages if the kernel gives them:
/// plans are much alike, and in a virtual machine the small pages of one plan may cost more than
/// its solution. All threads share one heap.
void enable_huge_page_heap();

}  // namespace wallheat
