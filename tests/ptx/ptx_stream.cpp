#include "ptx/ptx_stream.hpp"

#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "solve/gpu/cluster_memory.hpp"

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

std::string numbers(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += " " + std::to_string(value);
  return text;
}

std::size_t block_bytes(TileShape tile, int threads) {
  if (tile == large_tile)
    return threads == 128 ? sizeof(BlockMemory<large_tile, 128>)
                          : sizeof(BlockMemory<large_tile, 256>);
  return threads == 256 ? sizeof(BlockMemory<small_tile, 256>)
                        : sizeof(BlockMemory<small_tile, 512>);
}

}  // namespace

std::vector<ClusterShape> every_cluster_shape() {
  std::vector<int> blocks(16);
  std::iota(blocks.begin(), blocks.end(), 1);
  return {{large_tile, 128, 2, blocks},
          {large_tile, 256, 1, blocks},
          {small_tile, 256, 2, blocks},
          {small_tile, 512, 1, blocks}};
}

PtxStream::PtxStream(std::uint64_t seed, int multiprocessors, std::vector<ClusterShape> shapes,
                     Region region)
    : capacity_{.multiprocessors = multiprocessors,
                .clusters = shapes.empty() ? every_cluster_shape() : std::move(shapes),
                .grid_threads = 256,
                .most_grid_blocks = 2 * multiprocessors,
                .region_rows = region.rows,
                .region_cols = region.cols,
                .memory_bytes = std::size_t{1} << 30},
      machine_(std::make_shared<ptx::Machine>(seed)) {}

Memory PtxStream::device_memory(std::size_t bytes) {
  return {machine_->allocate(bytes),
          [machine = machine_](std::byte* memory) { machine->release(memory); }};
}

void PtxStream::copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void PtxStream::copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                          std::size_t row_bytes, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row)
    std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                static_cast<const std::byte*>(from) + row * from_pitch, row_bytes);
}

void PtxStream::clear(void* memory, std::size_t bytes) { std::memset(memory, 0, bytes); }

void PtxStream::run_resident(const GroupSize& group, const ResidentPlan& plan) {
  last_group = group;
  if (group.kind == GroupKind::grid) {
    machine_->run({ptx::kernel("grid_kernel"), group.blocks, group.threads, 0, ptx::Together::grid},
                  packed(plan));
    return;
  }
  machine_->run({ptx::kernel("cluster_kernel" +
                             numbers({group.tile.rows, group.tile.cols, group.most_threads})),
                 group.blocks, group.threads, block_bytes(group.tile, group.most_threads),
                 ptx::Together::cluster},
                packed(plan));
}

void PtxStream::run_streaming(std::size_t regions, const StreamedPlan& plan,
                              unsigned long long* largest_change) {
  const int threads = capacity_.region_rows * capacity_.region_cols;
  machine_->run(
      {ptx::kernel("streaming_kernel" + numbers({capacity_.region_rows, capacity_.region_cols,
                                                 largest_change != nullptr ? 1 : 0})),
       static_cast<int>(regions), threads,
       2 * sizeof(Pair) * static_cast<std::size_t>(streamed_tile.inbox_pairs() * threads),
       ptx::Together::no},
      packed(plan, largest_change));
}

}  // namespace wallheat::gpu
