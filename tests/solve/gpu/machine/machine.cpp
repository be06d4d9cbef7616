#include "solve/gpu/machine/machine.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "solve/gpu/instructions.cuh"

namespace wallheat::gpu {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
/// Start address of the shared memory of each block for the block itself. In an address of the
/// cluster's shared memory, the bits above address_bits are the number of the block, counted
/// from 1.
constexpr std::uint32_t first_address = 1024;
constexpr int address_bits = 24;
/// Gap between the shared memories of two blocks; belongs to no block.
constexpr std::size_t gap_bytes = 4096;

/// A barrier at which threads wait for each other.
struct Barrier {
  unsigned arrived = 0;
  std::uint32_t passed = 0;
};

struct Thread {
  unsigned block;  ///< among the blocks that run together
  unsigned number;
  ucontext_t context{};
  bool is_done = false;
  const std::uint32_t* awaited = nullptr;  ///< the thread waits until this value changes
  std::uint32_t awaited_was = 0;
  std::uint32_t exchanges = 0;
  bool has_stored_locally = false;  ///< into its own block, since its last barrier
};

struct Warp {
  std::array<std::array<double, warp_threads>, 2> values{};  ///< of this exchange and the next
  Barrier barrier;
};

struct Block {
  std::vector<Warp> warps;
  Barrier barrier;
  bool has_begun = false;
  bool has_lost_threads = false;
};

/// An mbarrier.
struct Arrivals {
  const Thread* made_by = nullptr;
  bool is_visible = false;         ///< is visible to other blocks
  bool is_announced = false;       ///< the number of bytes of this phase is announced
  std::int64_t awaited_bytes = 0;  ///< announced minus arrived bytes
  std::uint32_t phases = 0;        ///< number of ended phases

  /// Counts announced bytes, or arrived bytes as a negative number.
  void count(std::int64_t bytes) {
    awaited_bytes += bytes;
    if (!is_announced || awaited_bytes > 0) return;
    if (awaited_bytes < 0) throw Violation("an mbarrier receives more bytes than it expects");
    ++phases;
    is_announced = false;
  }
};

/// An asynchronous store, which arrives at an unspecified time.
struct PendingStore {
  Pair* to;
  Pair pair;
  Arrivals* arrivals;
};

/// Blocks that run together until they end.
struct Launch {
  Launch(std::mt19937_64& order, const Blocks& grid, unsigned first,
         const std::function<void()>& function);
  void run();
  void step(Thread& next);
  /// Completes some of the pending stores; at least one if `any` is true and one exists. Returns
  /// true if a store arrived.
  bool complete_stores(bool any);

  [[noreturn]] void fail(const std::string& what) const {
    throw Violation("block " + std::to_string(first_block + thread->block) + ", thread " +
                    std::to_string(thread->number) + " " + what);
  }
  /// Lets other threads run until `value` changes.
  void await(const std::uint32_t& value) {
    thread->awaited = &value;
    thread->awaited_was = value;
    swapcontext(&thread->context, &scheduler);
  }
  void await(Barrier& barrier, std::size_t of) {
    thread->has_stored_locally = false;
    if (++barrier.arrived < of) return await(barrier.passed);
    barrier.arrived = 0;
    ++barrier.passed;
  }
  [[nodiscard]] Block& block() { return blocks[thread->block]; }
  [[nodiscard]] std::byte* memory_of(std::size_t number) { return shared.data() + number * pitch; }
  /// Returns the memory of an address of the block's own shared memory or of the cluster's.
  [[nodiscard]] std::byte* memory_at(SharedAddress address, std::size_t bytes);
  [[nodiscard]] Arrivals& arrivals_at(SharedAddress address);
  void check_exists(std::size_t number) const {
    if (number >= blocks.size()) fail("accesses a block that does not exist");
  }
  void check_is_running(std::size_t number) const {
    check_exists(number);
    if (!blocks[number].has_begun) fail("accesses a block that has not started");
    if (blocks[number].has_lost_threads) fail("accesses a block that may have ended");
  }
  [[nodiscard]] std::size_t block_of(const Pair* memory) const {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(memory) - shared.data()) /
           pitch;
  }

  std::mt19937_64& random;
  const std::function<void()>& kernel;
  unsigned first_block;
  std::size_t shared_bytes;
  std::size_t pitch = (shared_bytes + gap_bytes + 255) / 256 * 256;  ///< from block to block
  std::vector<std::byte> shared;
  std::vector<Block> blocks;
  std::vector<std::unique_ptr<Thread>> threads;
  std::unique_ptr<std::byte[]> stacks;
  Barrier cluster;
  std::map<const std::byte*, Arrivals> mbarriers;
  std::vector<PendingStore> pending_stores;
  unsigned slowness;  ///< on average one of this number of pending stores arrives per step
  std::int64_t asynchronous_stores = 0;
  std::int64_t delayed_stores = 0;
  Thread* thread = nullptr;  ///< the running thread
  ucontext_t scheduler{};
  std::exception_ptr error;
};

Launch* running = nullptr;

void run_thread() {
  running->block().has_begun = true;
  try {
    running->kernel();
  } catch (...) {
    running->error = std::current_exception();
  }
  running->block().has_lost_threads = true;
  running->thread->is_done = true;
}

void prepare(ucontext_t& context, std::byte* stack, ucontext_t& next) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = stack_bytes;
  context.uc_link = &next;
  makecontext(&context, run_thread, 0);
}

Launch::Launch(std::mt19937_64& order, const Blocks& grid, unsigned first,
               const std::function<void()>& function)
    : random(order),
      kernel(function),
      first_block(first),
      shared_bytes(grid.shared_bytes),
      blocks(grid.is_cluster ? static_cast<std::size_t>(grid.count) : 1),
      slowness(std::array{1U, 2U, 8U, 60U}[order() % 4]) {
  shared.assign(pitch * blocks.size(), std::byte{0xcd});  // marks uninitialized memory
  blockDim.x = static_cast<unsigned>(grid.threads);
  gridDim.x = static_cast<unsigned>(grid.count);
  stacks.reset(new std::byte[blockDim.x * blocks.size() * stack_bytes]);
  for (unsigned number = 0; number < blocks.size(); ++number) {
    blocks[number].warps.resize(blockDim.x / warp_threads);
    for (unsigned of_block = 0; of_block < blockDim.x; ++of_block) {
      threads.push_back(std::make_unique<Thread>(Thread{number, of_block}));
      prepare(threads.back()->context, stacks.get() + (threads.size() - 1) * stack_bytes,
              scheduler);
    }
  }
}

void Launch::step(Thread& next) {
  thread = &next;
  next.awaited = nullptr;
  threadIdx.x = next.number;
  blockIdx.x = first_block + next.block;
  swapcontext(&scheduler, &next.context);
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
}

void Launch::run() {
  std::vector<Thread*> order;
  for (const auto& each : threads) order.push_back(each.get());
  std::vector<bool> rests(threads.size() / warp_threads);
  while (!order.empty()) {
    std::shuffle(order.begin(), order.end(), random);
    // Some warps fall behind the others, occasionally by more than one wait.
    for (std::size_t warp = 0; warp < rests.size(); ++warp) rests[warp] = random() % 3 == 0;
    const bool any_arrived = complete_stores(false);
    bool any_ran = false;
    for (const bool all : {false, true}) {
      if (any_ran) break;
      for (Thread* const next : order) {
        if (!all && rests[(next->block * blockDim.x + next->number) / warp_threads]) continue;
        if (next->awaited != nullptr && *next->awaited == next->awaited_was) continue;
        any_ran = true;
        step(*next);
      }
    }
    if (!any_ran && !any_arrived && !complete_stores(true)) {
      std::int64_t bytes = 0;
      for (const auto& [memory, arrivals] : mbarriers) bytes += arrivals.awaited_bytes;
      throw Violation(std::to_string(order.size()) + " threads wait indefinitely; " +
                      std::to_string(bytes) + " bytes are missing");
    }
    std::erase_if(order, [](const Thread* each) { return each->is_done; });
  }
  while (complete_stores(true)) {
  }
}

bool Launch::complete_stores(bool any) {
  std::shuffle(pending_stores.begin(), pending_stores.end(), random);
  std::size_t arriving = any && !pending_stores.empty() ? 1 : 0;
  while (!any && arriving < pending_stores.size() && random() % slowness == 0) ++arriving;
  for (std::size_t i = 0; i < arriving; ++i) {
    const PendingStore store = pending_stores.back();
    pending_stores.pop_back();
    if (blocks[block_of(store.to)].has_lost_threads)
      throw Violation("an asynchronous store arrives in a block that may have ended");
    *store.to = store.pair;
    store.arrivals->count(-static_cast<std::int64_t>(sizeof store.pair));
  }
  return arriving > 0;
}

std::byte* Launch::memory_at(SharedAddress address, std::size_t bytes) {
  const std::uint32_t number = address >> address_bits;
  const std::uint32_t own = address % (1U << address_bits);
  if (own % bytes != 0) fail("accesses memory that is not aligned");
  if (own < first_address || own - first_address + bytes > shared_bytes)
    fail("accesses memory outside of shared memory");
  return memory_of(number == 0 ? thread->block : number - 1) + (own - first_address);
}

Arrivals& Launch::arrivals_at(SharedAddress address) {
  const auto found = mbarriers.find(memory_at(address, 8));
  if (found == mbarriers.end()) fail("uses an mbarrier that is not initialized");
  return found->second;
}

}  // namespace

void Machine::run(const Blocks& blocks, const std::function<void()>& kernel) {
  std::vector<unsigned> order(blocks.is_cluster ? 1 : static_cast<std::size_t>(blocks.count));
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random_);
  for (const unsigned first_block : order) {
    Launch launch(random_, blocks, first_block, kernel);
    running = &launch;
    launch.run();
    asynchronous_stores += launch.asynchronous_stores;
    delayed_stores += launch.delayed_stores;
  }
}

}  // namespace wallheat::gpu

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's
using namespace wallheat::gpu;

void __syncthreads() { running->await(running->block().barrier, blockDim.x); }

double __shfl_xor_sync(unsigned /*mask*/, double value, int distance) {
  Warp& warp = running->block().warps[threadIdx.x / warp_threads];
  const unsigned lane = threadIdx.x % warp_threads;
  auto& values = warp.values[running->thread->exchanges++ % 2];
  values[lane] = value;
  running->await(warp.barrier, warp_threads);
  return values[lane ^ static_cast<unsigned>(distance)];
}
// NOLINTEND(bugprone-reserved-identifier)

void check_atomic(const void* memory) {
  const std::vector<std::byte>& shared = running->shared;
  if (memory >= shared.data() && memory < shared.data() + shared.size())
    (void)shared_address(memory);
}

namespace wallheat::gpu {

void* dynamic_shared_memory() { return running->memory_of(running->thread->block); }

SharedAddress shared_address(const void* pointer) {
  const auto offset =
      static_cast<const std::byte*>(pointer) - running->memory_of(running->thread->block);
  if (offset < 0 || static_cast<std::size_t>(offset) >= running->shared_bytes)
    running->fail("uses an address outside of its shared memory");
  return first_address + static_cast<SharedAddress>(offset);
}

Pair& pair_at(SharedAddress address) {
  running->thread->has_stored_locally = true;
  return *reinterpret_cast<Pair*>(running->memory_at(address, sizeof(Pair)));
}

void sync_cluster() { running->await(running->cluster, running->threads.size()); }

double* in_block(double* here, unsigned block) {
  running->check_is_running(block);
  return here + (running->memory_of(block) - running->memory_of(running->thread->block)) /
                    static_cast<std::ptrdiff_t>(sizeof(double));
}

SharedAddress in_block(SharedAddress here, unsigned block) {
  running->check_exists(block);
  return here | (block + 1) << address_bits;
}

void make_mbarrier(SharedAddress place) {
  running->mbarriers[running->memory_at(place, 8)] = {.made_by = running->thread};
}

void fence_mbarrier_init() {
  for (auto& [memory, arrivals] : running->mbarriers)
    if (arrivals.made_by == running->thread) arrivals.is_visible = true;
}

void expect_bytes(SharedAddress mbarrier, std::uint32_t count) {
  Arrivals& arrivals = running->arrivals_at(mbarrier);
  if (arrivals.is_announced) running->fail("arrives at an mbarrier whose phase has not ended");
  arrivals.is_announced = true;
  arrivals.count(count);
}

bool have_arrived(SharedAddress mbarrier, std::uint32_t parity) {
  const Arrivals& arrivals = running->arrivals_at(mbarrier);
  const auto is_over = [&] { return arrivals.phases % 2 != parity; };
  if (is_over()) return true;
  running->await(arrivals.phases);
  return is_over() && running->random() % 4 != 0;
}

void store_async(SharedAddress to, Pair pair, SharedAddress mbarrier) {
  if (to >> address_bits != mbarrier >> address_bits)
    running->fail("stores in one block and signals an mbarrier of another");
  auto* const memory = reinterpret_cast<Pair*>(running->memory_at(to, sizeof(Pair)));
  running->check_is_running(running->block_of(memory));
  Arrivals& arrivals = running->arrivals_at(mbarrier);
  if (!arrivals.is_visible)
    running->fail("signals an mbarrier that is not visible to other blocks");
  running->pending_stores.push_back({memory, pair, &arrivals});
  ++running->asynchronous_stores;
  if (running->thread->has_stored_locally) ++running->delayed_stores;
}

}  // namespace wallheat::gpu
