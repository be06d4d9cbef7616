#include "ptx/machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "ptx/instructions.hpp"

namespace wallheat::ptx {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::byte unwritten{0xcd};
constexpr std::uint64_t arrivals_mark = 0x6d62617272696572;  // in an mbarrier's memory
constexpr std::int64_t most_awaited_bytes = (1 << 20) - 1;   // of an mbarrier, says PTX

}  // namespace

const Kernel& kernel(const std::string& name) {
  for (const Kernel& kernel : kernels())
    if (kernel.name == name) return kernel;
  throw Violation("there is no kernel " + name);
}

Machine::Machine(std::uint64_t seed) : random_(seed) {}

Machine::~Machine() {
  if (stacks_ != nullptr) munmap(stacks_, stacks_bytes_);
}

std::byte* Machine::allocate(std::size_t bytes) {
  auto memory = std::make_unique<std::byte[]>(bytes + 256);
  std::fill_n(memory.get(), bytes + 256, unwritten);
  const auto past = reinterpret_cast<std::uintptr_t>(memory.get()) % 256;
  std::byte* const aligned = memory.get() + (256 - past);
  allocations_[aligned] = {std::move(memory), bytes};
  return aligned;
}

void Machine::release(std::byte* memory) { allocations_.erase(memory); }

void Machine::run(const Launch& launch, const std::vector<std::byte>& parameters) {
  if (launch.threads % warp_threads != 0)
    throw Violation(launch.kernel.name + ": a block has a warp that is not full");
  ++launches;
  launch_ = &launch;
  parameters_ = parameters;
  shared_bytes_ = launch.kernel.static_shared_bytes + launch.dynamic_shared_bytes;
  shared_pitch_ = (shared_bytes_ + 4096 + 255) / 256 * 256;
  if (launch.is_cluster) {
    run_together(launch, 0, launch.blocks);
    return;
  }
  std::vector<int> order(static_cast<std::size_t>(launch.blocks));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  for (const int block : order) run_together(launch, block, 1);
}

void Machine::run_together(const Launch& launch, int first_block, int blocks) {
  first_block_ = first_block;
  at_cluster_barrier_ = 0;
  shared_.assign(shared_pitch_ * static_cast<std::size_t>(blocks), unwritten);
  edges_.assign(shared_.size() / 16, Edge::none);
  arrivals_.clear();
  on_the_way_.clear();
  constexpr unsigned slownesses[] = {1, 2, 8, 60};
  slowness_ = slownesses[random_() % 4];
  blocks_.assign(static_cast<std::size_t>(blocks), Block{});
  std::vector<std::unique_ptr<Thread>> threads;
  const auto count = static_cast<std::size_t>(blocks * launch.threads);
  if (stacks_bytes_ < count * stack_bytes) {
    if (stacks_ != nullptr) munmap(stacks_, stacks_bytes_);
    stacks_bytes_ = count * stack_bytes;
    void* const mapped = mmap(nullptr, stacks_bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    stacks_ = static_cast<std::byte*>(mapped);
  }
  for (int block = 0; block < blocks; ++block) {
    Block& made = blocks_[static_cast<std::size_t>(block)];
    made.shared = shared_.data() + static_cast<std::size_t>(block) * shared_pitch_;
    made.warps.resize(static_cast<std::size_t>(launch.threads / warp_threads));
    for (int thread = 0; thread < launch.threads; ++thread) {
      threads.push_back(std::make_unique<Thread>(*this, block, thread));
      ucontext_t& context = threads.back()->context_;
      getcontext(&context);
      context.uc_stack.ss_sp = stacks_ + (threads.size() - 1) * stack_bytes;
      context.uc_stack.ss_size = stack_bytes;
      context.uc_link = nullptr;
      const auto address = reinterpret_cast<std::uintptr_t>(threads.back().get());
      makecontext(&context, reinterpret_cast<void (*)()>(&Machine::enter), 2,
                  static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
    }
  }

  std::vector<Thread*> order;
  for (const auto& thread : threads) order.push_back(thread.get());
  std::vector<bool> rests(count / warp_threads);
  while (!order.empty()) {
    std::shuffle(order.begin(), order.end(), random_);
    // Some warps fall behind the others, by more than one wait now and then.
    for (std::size_t warp = 0; warp < rests.size(); ++warp) rests[warp] = random_() % 3 == 0;
    const bool any_arrived = let_arrive(false);
    bool any_ran = false;
    for (const bool all : {false, true}) {
      if (any_ran) break;
      for (Thread* const thread : order) {
        const std::size_t warp =
            (thread->block_ * static_cast<std::size_t>(launch.threads) + thread->thread_) /
            warp_threads;
        if (!all && rests[warp]) continue;
        if (thread->awaited_ != nullptr && *thread->awaited_ == thread->awaited_was_) continue;
        any_ran = true;
        step(*thread);
      }
    }
    if (!any_ran && !any_arrived && !let_arrive(true)) {
      std::int64_t bytes = 0;
      for (const auto& [memory, arrivals] : arrivals_) bytes += arrivals.awaited_bytes;
      throw Violation(launch.kernel.name + ": " + std::to_string(order.size()) +
                      " threads wait for ever; " + std::to_string(bytes) + " bytes do not come");
    }
    std::erase_if(order, [](const Thread* thread) { return thread->done_; });
  }
  while (let_arrive(true)) {
  }
}

void Machine::Arrivals::look() {
  if (std::abs(awaited_bytes) > most_awaited_bytes)
    throw Violation("an mbarrier is told of too many bytes");
  if (awaited_threads > 0) return;
  if (awaited_bytes < 0) throw Violation("more bytes come to an mbarrier than it was told of");
  if (awaited_bytes > 0) return;
  ++phases;
  awaited_threads = threads;
}

bool Machine::let_arrive(bool any) {
  std::shuffle(on_the_way_.begin(), on_the_way_.end(), random_);
  std::size_t arriving = any && !on_the_way_.empty() ? 1 : 0;
  while (!any && arriving < on_the_way_.size() && random_() % slowness_ == 0) ++arriving;
  for (std::size_t i = 0; i < arriving; ++i) {
    const OnTheWay store = on_the_way_.back();
    on_the_way_.pop_back();
    const std::string where = launch_->kernel.name + ": a store on its way ";
    const auto offset = static_cast<std::size_t>(store.to - shared_.data());
    if (blocks_[offset / shared_pitch_].has_lost_threads)
      throw Violation(where + "arrives in a block that may have ended");
    if (edge_at(store.to) == Edge::arrived)
      throw Violation(where + "overwrites what nobody has read");
    edge_at(store.to) = Edge::arrived;
    std::memcpy(store.to, &store.pair, sizeof store.pair);
    store.arrivals->awaited_bytes -= static_cast<std::int64_t>(sizeof store.pair);
    store.arrivals->look();
  }
  return arriving > 0;
}

void Machine::step(Thread& thread) {
  thread.awaited_ = nullptr;
  swapcontext(&scheduler_, &thread.context_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Machine::enter(unsigned high, unsigned low) {
  auto& thread = *reinterpret_cast<Thread*>(std::uintptr_t{high} << 32 | low);
  Machine& machine = thread.machine_;
  thread.block().begun = true;
  try {
    machine.launch_->kernel.function(thread);
  } catch (...) {
    machine.error_ = std::current_exception();
  }
  thread.block().has_lost_threads = true;
  thread.done_ = true;
  setcontext(&machine.scheduler_);
}

Thread::Thread(Machine& machine, int block, int thread)
    : machine_(machine),
      block_(static_cast<std::uint32_t>(block)),
      thread_(static_cast<std::uint32_t>(thread)) {}

std::uint32_t Thread::ntid() const { return static_cast<std::uint32_t>(machine_.launch_->threads); }
std::uint32_t Thread::ctaid() const {
  return static_cast<std::uint32_t>(machine_.first_block_) + block_;
}
std::uint32_t Thread::nctaid() const {
  return static_cast<std::uint32_t>(machine_.launch_->blocks);
}

void Thread::await(const std::uint32_t& value) {
  awaited_ = &value;
  awaited_was_ = value;
  swapcontext(&context_, &machine_.scheduler_);
}

void Thread::await_block(int line) {
  Machine::Warp& warp = this->warp();
  if (warp.at_barrier == 0) warp.barrier_line = line;
  if (warp.barrier_line != line) fail("waits for its block elsewhere than others of its warp");
  warp.at_barrier = (warp.at_barrier + 1) % warp_threads;
  Machine::Block& block = this->block();
  if (++block.at_barrier < machine_.launch_->threads) return await(block.barriers);
  block.at_barrier = 0;
  ++block.barriers;
}

void Thread::cluster_arrive() {
  if (at_cluster_barrier_) fail("arrives at the cluster's barrier twice");
  at_cluster_barrier_ = true;
  cluster_barrier_ = machine_.cluster_barriers_;
  if (++machine_.at_cluster_barrier_ < machine_.launch_->blocks * machine_.launch_->threads) return;
  machine_.at_cluster_barrier_ = 0;
  ++machine_.cluster_barriers_;
}

void Thread::cluster_wait() {
  if (!at_cluster_barrier_) fail("waits at the cluster's barrier without having arrived");
  at_cluster_barrier_ = false;
  if (machine_.cluster_barriers_ == cluster_barrier_) await(machine_.cluster_barriers_);
}

std::uint32_t Thread::exchange(std::uint32_t value, std::uint32_t distance, int line) {
  Machine::Warp& warp = this->warp();
  if (warp.in_exchange == 0) warp.exchange_line = line;
  if (warp.exchange_line != line) fail("talks to its warp elsewhere than others of it");
  auto& values = warp.values[exchanges_++ % 2];
  values[thread_ % warp_threads] = value;
  if (++warp.in_exchange < warp_threads) {
    await(warp.exchanges);
  } else {
    warp.in_exchange = 0;
    ++warp.exchanges;
  }
  return values[(thread_ % warp_threads) ^ distance];
}

std::uint64_t Thread::generic(std::uint64_t shared_address) const {
  return reinterpret_cast<std::uintptr_t>(shared_memory(shared_address, 1));
}

std::uint64_t Thread::in_block(std::uint64_t generic_address, std::uint32_t block) const {
  if (block >= machine_.blocks_.size()) fail("asks for a block that does not exist");
  return generic_address + (block - std::uint64_t{block_}) * machine_.shared_pitch_;
}

std::uint32_t Thread::shared_in_block(std::uint32_t address, std::uint32_t block) const {
  if (block >= machine_.blocks_.size()) fail("asks for a block that does not exist");
  (void)shared_memory(address, 1);
  return address | (block + 1) << shared_address_bits;
}

std::byte* Thread::cluster_memory(std::uint64_t address, std::size_t bytes) const {
  const std::uint64_t block = address >> shared_address_bits;
  const std::uint64_t own = address % (1U << shared_address_bits);
  std::byte* const here = shared_memory(own, bytes);
  if (block == 0) return here;
  return here + (block - 1 - std::size_t{block_}) * machine_.shared_pitch_;
}

void Thread::check_lives(std::size_t block) const {
  if (!machine_.blocks_[block].begun) fail("reaches into a block that has not begun");
  if (machine_.blocks_[block].has_lost_threads) fail("reaches into a block that may have ended");
}

Machine::Arrivals& Thread::arrivals_at(std::byte* memory) const {
  const auto found = machine_.arrivals_.find(memory);
  if (found == machine_.arrivals_.end()) fail("uses an mbarrier that is none yet");
  if (load<std::uint64_t>(memory, 0) != arrivals_mark)
    fail("uses an mbarrier that was overwritten");
  return found->second;
}

void Thread::make_arrivals(std::uint64_t address, std::uint32_t threads) {
  std::byte* const memory = shared_memory(address, 8);
  store(memory, 0, arrivals_mark);
  Machine::Arrivals& made = machine_.arrivals_[memory];
  made = {};
  made.threads = made.awaited_threads = static_cast<int>(threads);
  made.made_by = this;
}

void Thread::show_arrivals() {
  for (auto& [memory, arrivals] : machine_.arrivals_)
    if (arrivals.made_by == this) arrivals.is_seen = true;
}

void Thread::expect_arrivals(std::uint64_t address, std::uint32_t bytes) {
  Machine::Arrivals& arrivals = arrivals_at(shared_memory(address, 8));
  if (arrivals.awaited_threads == 0) fail("arrives at an mbarrier whose phase has not ended");
  --arrivals.awaited_threads;
  arrivals.awaited_bytes += bytes;
  arrivals.look();
}

bool Thread::await_arrivals(std::uint64_t address, std::uint32_t parity) {
  Machine::Arrivals& arrivals = arrivals_at(shared_memory(address, 8));
  const auto is_over = [&] { return arrivals.phases % 2 != parity; };
  if (is_over()) return true;
  await(arrivals.phases);
  return is_over() && machine_.random_() % 4 != 0;
}

void Thread::store_later(std::uint64_t to, const std::array<double, 2>& pair,
                         std::uint64_t arrivals) {
  Machine::OnTheWay store{cluster_memory(to, sizeof pair), pair};
  std::byte* const counted_at = cluster_memory(arrivals, 8);
  const auto block_of = [this](const std::byte* memory) {
    return static_cast<std::size_t>(memory - machine_.shared_.data()) / machine_.shared_pitch_;
  };
  if (block_of(store.to) != block_of(counted_at))
    fail("stores in one block and tells an mbarrier of another");
  check_lives(block_of(store.to));
  store.arrivals = &arrivals_at(counted_at);
  if (!store.arrivals->is_seen) fail("tells an mbarrier that was not shown to other blocks");
  if (machine_.edge_at(store.to) == Machine::Edge::none)
    machine_.edge_at(store.to) = Machine::Edge::awaited;
  machine_.on_the_way_.push_back(store);
  ++machine_.stores_to_other_blocks;
  ++machine_.asynchronous_stores;
}

const std::byte* Thread::read_shared(std::uint64_t address, std::size_t bytes) {
  std::byte* const memory = shared_memory(address, bytes);
  Machine::Edge& edge = machine_.edge_at(memory);
  if (edge == Machine::Edge::awaited) fail("reads an edge that has not arrived");
  if (edge == Machine::Edge::arrived) edge = Machine::Edge::awaited;
  return memory;
}

void Thread::check_alignment(std::uint64_t address, std::size_t bytes) const {
  if (address % bytes != 0) fail("uses memory that is not aligned");
}

std::byte* Thread::shared_memory(std::uint64_t address, std::size_t bytes) const {
  check_alignment(address, bytes);
  if (address < first_shared_address ||
      address - first_shared_address + bytes > machine_.shared_bytes_)
    fail("reaches outside of shared memory");
  return block().shared + (address - first_shared_address);
}

std::byte* Thread::global_memory(std::uint64_t address, std::size_t bytes) const {
  check_alignment(address, bytes);
  auto* const memory = reinterpret_cast<std::byte*>(address);
  const auto after = machine_.allocations_.upper_bound(memory);
  if (after == machine_.allocations_.begin()) fail("reaches outside of device memory");
  const auto& [begin, allocation] = *std::prev(after);
  if (static_cast<std::size_t>(memory - begin) + bytes > allocation.second)
    fail("reaches outside of device memory");
  return memory;
}

std::byte* Thread::generic_memory(std::uint64_t address, std::size_t bytes) const {
  check_alignment(address, bytes);
  auto* const memory = reinterpret_cast<std::byte*>(address);
  const std::byte* const shared = machine_.shared_.data();
  if (memory < shared || memory >= shared + machine_.shared_.size())
    return global_memory(address, bytes);
  const auto offset = static_cast<std::size_t>(memory - shared);
  const std::size_t owner = offset / machine_.shared_pitch_;
  if (offset % machine_.shared_pitch_ + bytes > machine_.shared_bytes_)
    fail("reaches outside of shared memory");
  if (owner == block_) return memory;
  ++machine_.stores_to_other_blocks;
  check_lives(owner);
  return memory;
}

const std::byte* Thread::param_memory(std::uint64_t offset, std::size_t bytes) const {
  if (offset + bytes > machine_.parameters_.size()) fail("reaches outside of its parameters");
  return machine_.parameters_.data() + offset;
}

void Thread::fail(const std::string& what) const {
  throw Violation(machine_.launch_->kernel.name + ", block " + std::to_string(ctaid()) +
                  ", thread " + std::to_string(thread_) + " " + what);
}

}  // namespace wallheat::ptx
