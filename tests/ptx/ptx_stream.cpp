#include "ptx/ptx_stream.hpp"

#include <iterator>
#include <sstream>
#include <string>
#include <utility>

#include "solve/gpu/cluster_memory.hpp"

namespace wallheat::gpu {
namespace {

constexpr int resident_blocks = 264;  // two on each of 132 multiprocessors

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

std::string numbers(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += " " + std::to_string(value);
  return text;
}

/// The arguments of a template, for each of its kernels.
std::vector<std::vector<int>> arguments_of(const std::string& name) {
  std::vector<std::vector<int>> all;
  for (const ptx::Kernel& kernel : ptx::kernels()) {
    std::istringstream words(kernel.name);
    std::string first;
    words >> first;
    if (first == name)
      all.emplace_back(std::istream_iterator<int>(words), std::istream_iterator<int>());
  }
  return all;
}

std::size_t block_bytes(int threads) {
  const std::size_t a_thread = sizeof(BlockMemory<2>) - sizeof(BlockMemory<1>);
  return sizeof(BlockMemory<1>) + static_cast<std::size_t>(threads - 1) * a_thread;
}

}  // namespace

std::vector<ClusterShape> every_cluster_shape() {
  std::vector<ClusterSize> sizes;
  for (int blocks = 1; blocks <= most_blocks_of_a_cluster; ++blocks)
    sizes.push_back({blocks, resident_blocks / blocks});
  std::vector<ClusterShape> shapes;
  for (const auto& kernel : arguments_of("cluster_kernel")) shapes.push_back({kernel.at(0), sizes});
  return shapes;
}

PtxStream::PtxStream(std::uint64_t seed, std::vector<ClusterShape> shapes)
    : capacity_{.multiprocessors = resident_blocks / 2,
                .clusters = shapes.empty() ? every_cluster_shape() : std::move(shapes),
                .grid_threads = 256,
                .most_grid_blocks = resident_blocks,
                .region_rows = 8,
                .region_cols = 16,
                .memory_bytes = std::size_t{1} << 30},
      machine_(std::make_shared<ptx::Machine>(seed)) {}

Memory PtxStream::device_memory(std::size_t bytes) {
  return {machine_->allocate(bytes),
          [machine = machine_](std::byte* memory) { machine->release(memory); }};
}

void PtxStream::run_resident(const GroupSize& group, const ResidentPlan& plan) {
  last_group = group;
  if (group.kind == GroupKind::grid) {
    machine_->run({ptx::kernel("grid_kernel"), group.blocks, group.threads, 0, ptx::Together::grid},
                  packed(plan));
    return;
  }
  machine_->run({ptx::kernel("cluster_kernel" + numbers({group.most_threads})), group.blocks,
                 group.threads, block_bytes(group.most_threads), ptx::Together::cluster},
                packed(plan));
}

void PtxStream::run_streaming(std::size_t regions, const StreamedPlan& plan,
                              unsigned long long* largest_change) {
  machine_->run({ptx::kernel("streaming_kernel" + numbers({largest_change != nullptr ? 1 : 0,
                                                           plan.terms != nullptr ? 1 : 0})),
                 static_cast<int>(regions), capacity_.region_rows * capacity_.region_cols, 0,
                 ptx::Together::no},
                packed(plan, largest_change));
}

}  // namespace wallheat::gpu
