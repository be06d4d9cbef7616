#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// A GPU that is a program: it runs kernels that translate.py made of PTX, each thread as a fiber,
// warps in random order. A thread runs until it waits for others. Asynchronous stores arrive in
// random order, some late. What a GPU would let pass, and would get wrong now and then, ends the
// launch here: see Violation. It knows nothing of time, of what ptxas makes of PTX, or of ordinary
// stores that are seen late.

namespace wallheat::ptx {

/// What no kernel may do: reach outside of its memory, or into a block that has not begun or may
/// have ended; part ways within a warp where all its threads must be at one instruction; wait for
/// ever; tell an mbarrier of other bytes than come; store asynchronously over what was not read
/// yet, or read a second time what was stored so. Says kernel, block and thread.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Thread;
struct Kernel {
  std::string name;  ///< and its template's arguments, as in "streaming_kernel 1 0"
  void (*function)(Thread& thread);
  std::size_t static_shared_bytes;
};
/// What translate.py made.
[[nodiscard]] const std::vector<Kernel>& kernels();
/// Throws Violation if there is none of that name.
[[nodiscard]] const Kernel& kernel(const std::string& name);

struct Launch {
  const Kernel& kernel;
  int blocks;
  int threads;  ///< of a block, a multiple of 32
  std::size_t dynamic_shared_bytes;
  bool is_cluster;  ///< all blocks run at the same time; else one after the other
};

/// Where the shared memory of each block begins for the block itself.
constexpr std::uint64_t first_shared_address = 1024;
/// In an address of the cluster's shared memory the block's number, from 1 on, stands above these.
constexpr int shared_address_bits = 24;
constexpr int warp_threads = 32;

class Machine {
 public:
  /// `seed` is that of the order in which threads run.
  explicit Machine(std::uint64_t seed);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Memory that kernels reach, filled with what nobody wrote.
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  void release(std::byte* memory);

  /// Runs a kernel to its end; its parameters are laid out as a C++ function's would be in a
  /// struct. Throws Violation.
  void run(const Launch& launch, const std::vector<std::byte>& parameters);

  std::int64_t launches = 0;
  std::int64_t stores_to_other_blocks = 0;  ///< and loads
  std::int64_t asynchronous_stores = 0;     ///< of those

 private:
  friend class Thread;
  struct Warp {
    std::array<std::array<std::uint32_t, warp_threads>, 2>
        values{};  ///< of this exchange and the next
    std::uint32_t exchanges = 0;
    int in_exchange = 0;
    int exchange_line = 0;
    int at_barrier = 0;
    int barrier_line = 0;
  };
  struct Block {
    std::byte* shared = nullptr;
    std::vector<Warp> warps;
    std::uint32_t barriers = 0;  ///< passed
    int at_barrier = 0;
    bool begun = false;
    bool has_lost_threads = false;
  };

  /// An mbarrier. Its memory holds a mark, so that it is noticed if somebody writes there.
  struct Arrivals {
    int threads = 0;  ///< that arrive in a phase
    int awaited_threads = 0;
    std::int64_t awaited_bytes = 0;  ///< told and not come; less than 0: come and not told yet
    std::uint32_t phases = 0;        ///< that ended
    const Thread* made_by = nullptr;
    bool is_seen = false;  ///< by other blocks

    /// Ends the phase if nothing is awaited any more.
    void look();
  };
  /// An asynchronous store of which nobody can say when it arrives.
  struct OnTheWay {
    std::byte* to = nullptr;
    std::array<double, 2> pair{};
    Arrivals* arrivals = nullptr;
  };
  /// Of 16 bytes of shared memory that asynchronous stores reach.
  enum class Edge : std::uint8_t { none, awaited, arrived };

  void run_together(const Launch& launch, int first_block, int blocks);
  /// Lets some of the stores on the way arrive; at least one if `any` is to, and there is one.
  bool let_arrive(bool any);
  [[nodiscard]] Edge& edge_at(const std::byte* memory) {
    return edges_[static_cast<std::size_t>(memory - shared_.data()) / 16];
  }
  void step(Thread& thread);
  static void enter(unsigned high, unsigned low);

  std::mt19937_64 random_;
  std::map<std::byte*, std::pair<std::unique_ptr<std::byte[]>, std::size_t>> allocations_;
  std::byte* stacks_ = nullptr;
  std::size_t stacks_bytes_ = 0;

  // Of the launch that runs now.
  const Launch* launch_ = nullptr;
  std::vector<std::byte> parameters_;
  std::size_t shared_bytes_ = 0;
  std::size_t shared_pitch_ = 0;  ///< from block to block; what lies between belongs to none
  std::vector<std::byte> shared_;
  std::vector<Block> blocks_;
  std::vector<Edge> edges_;  ///< of shared_
  std::map<std::byte*, Arrivals> arrivals_;
  std::vector<OnTheWay> on_the_way_;
  unsigned slowness_ = 0;  ///< one in so many stores on the way arrives at a time
  int first_block_ = 0;
  int at_cluster_barrier_ = 0;
  std::uint32_t cluster_barriers_ = 0;  ///< passed
  ucontext_t scheduler_{};
  std::exception_ptr error_;
};

/// What a kernel's instructions do that is not done with registers alone. `line` tells one
/// instruction from another.
class Thread {
 public:
  Thread(Machine& machine, int block, int thread);

  [[nodiscard]] std::uint32_t tid() const { return thread_; }
  [[nodiscard]] std::uint32_t ntid() const;
  [[nodiscard]] std::uint32_t ctaid() const;
  [[nodiscard]] std::uint32_t nctaid() const;

  /// The threads of a block wait for each other, those of a warp at the same instruction.
  void await_block(int line);
  void cluster_arrive();
  void cluster_wait();
  /// The value of the thread of this warp whose number differs in the bits of `distance`.
  [[nodiscard]] std::uint32_t exchange(std::uint32_t value, std::uint32_t distance, int line);

  /// A generic address of this block's shared memory, and the same place of another block's. Of a
  /// block that does not exist it is an address that may not be used.
  [[nodiscard]] std::uint64_t generic(std::uint64_t shared_address) const;
  [[nodiscard]] std::uint64_t in_block(std::uint64_t generic_address, std::uint32_t block) const;
  /// The same of addresses of this block's shared memory, as one of the cluster's.
  [[nodiscard]] std::uint32_t shared_in_block(std::uint32_t address, std::uint32_t block) const;

  void make_arrivals(std::uint64_t address, std::uint32_t threads);
  void show_arrivals();  ///< those that this thread made, to other blocks
  void expect_arrivals(std::uint64_t address, std::uint32_t bytes);
  /// Whether a phase of this parity has ended; waits for it, but not always to the end.
  [[nodiscard]] bool await_arrivals(std::uint64_t address, std::uint32_t parity);
  /// Stores a pair, of which an mbarrier of the same block is told, some time later.
  void store_later(std::uint64_t to, const std::array<double, 2>& pair, std::uint64_t arrivals);

  [[nodiscard]] std::byte* shared_memory(std::uint64_t address, std::size_t bytes) const;
  [[nodiscard]] const std::byte* read_shared(std::uint64_t address, std::size_t bytes);
  [[nodiscard]] std::byte* global_memory(std::uint64_t address, std::size_t bytes) const;
  [[nodiscard]] std::byte* generic_memory(std::uint64_t address, std::size_t bytes) const;
  [[nodiscard]] const std::byte* param_memory(std::uint64_t offset, std::size_t bytes) const;

 private:
  friend class Machine;
  [[nodiscard]] Machine::Block& block() const { return machine_.blocks_[block_]; }
  [[nodiscard]] Machine::Warp& warp() const { return block().warps[thread_ / warp_threads]; }
  [[noreturn]] void fail(const std::string& what) const;
  void check_alignment(std::uint64_t address, std::size_t bytes) const;
  /// Lets others run until `*value` is not what it is now.
  void await(const std::uint32_t& value);
  [[nodiscard]] Machine::Arrivals& arrivals_at(std::byte* memory) const;
  /// What an address of the cluster's shared memory means.
  [[nodiscard]] std::byte* cluster_memory(std::uint64_t address, std::size_t bytes) const;
  void check_lives(std::size_t block) const;

  Machine& machine_;
  std::uint32_t block_;   ///< of those that run together
  std::uint32_t thread_;  ///< of the block
  ucontext_t context_{};
  bool done_ = false;
  const std::uint32_t* awaited_ = nullptr;
  std::uint32_t awaited_was_ = 0;
  std::uint32_t exchanges_ = 0;
  std::uint32_t cluster_barrier_ = 0;
  bool at_cluster_barrier_ = false;
};

}  // namespace wallheat::ptx
