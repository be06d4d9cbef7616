#include "ptx/ptx_stream.hpp"

#include <string>
#include <vector>

namespace wallheat::gpu {
namespace {

/// Parameters as a kernel finds them: one after another.
template <class... Parameter>
std::vector<std::byte> packed(const Parameter&... parameters) {
  std::vector<std::byte> bytes;
  const auto append = [&](const auto& parameter) {
    const auto* const first = reinterpret_cast<const std::byte*>(&parameter);
    static_assert(alignof(decltype(parameter)) <= 8);
    bytes.resize((bytes.size() + 7) / 8 * 8);
    bytes.insert(bytes.end(), first, first + sizeof(parameter));
  };
  (append(parameters), ...);
  return bytes;
}

}  // namespace

PtxStream::PtxStream(std::uint64_t seed, int block_threads)
    : capacity_{.multiprocessors = 132,
                .block_threads = block_threads,
                .most_blocks = most_blocks_of_a_cluster,
                .region_rows = 8,
                .region_cols = 16,
                .memory_bytes = std::size_t{1} << 30},
      machine_(std::make_shared<ptx::Machine>(seed)) {}

Memory PtxStream::device_memory(std::size_t bytes) {
  return {machine_->allocate(bytes),
          [machine = machine_](std::byte* memory) { machine->release(memory); }};
}

void PtxStream::run_cluster(int blocks, int threads, const ResidentPlan& plan) {
  last_blocks = blocks;
  machine_->run({ptx::kernel("cluster_kernel"), blocks, threads, sizeof(BlockMemory), true},
                packed(plan));
}

void PtxStream::run_streaming(std::size_t regions, const StreamedPlan& plan,
                              unsigned long long* largest_change) {
  const std::string name = std::string("streaming_kernel ") +
                           (largest_change != nullptr ? "1 " : "0 ") +
                           (plan.terms != nullptr ? "1" : "0");
  machine_->run({ptx::kernel(name), static_cast<int>(regions),
                 capacity_.region_rows * capacity_.region_cols, 0, false},
                packed(plan, largest_change));
}

}  // namespace wallheat::gpu
