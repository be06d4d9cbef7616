// The kernels for every GPU: the resident one over a cooperative grid, with its inboxes in device
// memory, and the streaming one.
#include <cooperative_groups.h>

#include <algorithm>
#include <utility>

#include "solve/gpu/block_maximum.cuh"
#include "solve/gpu/kernels.hpp"

namespace wallheat::gpu {
namespace {

namespace cg = cooperative_groups;

constexpr int inbox_pairs = grid_tile.inbox_pairs();  // of the grid and of streamed regions
static_assert(grid_tile == streamed_tile);
constexpr int grid_threads = 256;
constexpr int grid_blocks_a_multiprocessor = 2;  // what 128 registers a thread allow
// The inboxes of a streamed region take the 48 KiB that a block has everywhere. Larger regions
// have a smaller rim, but no other block computes while one loads or waits.
constexpr int streamed_rows = 8;
constexpr int streamed_cols = 16;
constexpr int streaming_threads = streamed_rows * streamed_cols;
/// A source's terms are in registers, too.
constexpr int streaming_blocks_a_multiprocessor(bool has_source) { return has_source ? 2 : 4; }

class GridGroup {
 public:
  __device__ GridGroup(const ResidentPlan& plan, Agreement& agreement)
      : plan_(plan), agreement_(agreement) {}
  __device__ int slot() const { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
  __device__ bool leads() const { return threadIdx.x == 0; }
  __device__ Pair received(int buffer, int place) const {
    return plan_.exchanged[slot() + offset(buffer, place)];
  }
  __device__ void fill(int place, Pair pair) const {
    for (int buffer = 0; buffer < 2; ++buffer)
      plan_.exchanged[slot() + offset(buffer, place)] = pair;
  }
  using Neighbour = Pair*;
  __device__ Neighbour neighbour(std::int32_t slot) const {
    return slot < 0 ? nullptr : plan_.exchanged + slot;
  }
  __device__ void give(const double (&cells)[grid_tile.cells()], const Neighbour (&to)[sides],
                       int buffer) const {
    give_edges<grid_tile>(cells, [&](Side side, int place, const auto& edge) {
      if (to[side] == nullptr) return;
      for (const Pair& pair : edge) to[side][offset(buffer, place++)] = pair;
    });
  }
  __device__ void begin() const { sync(); }
  __device__ void await_edges(int /*buffer*/) const { sync(); }
  __device__ void sync() const { cg::this_grid().sync(); }
  __device__ double max(double value) {
    // Two take turns: one is emptied while nobody uses it.
    unsigned long long* maximum = plan_.maxima + turn_;
    turn_ ^= 1;
    raise_maximum(maximum, value);
    sync();
    const double largest = __longlong_as_double(
        static_cast<long long>(*static_cast<volatile unsigned long long*>(maximum)));
    if (slot() == 0) plan_.maxima[turn_] = 0;
    return largest;
  }
  __device__ Agreement& agreement() { return agreement_; }

 private:
  __device__ int offset(int buffer, int place) const {
    return (buffer * inbox_pairs + place) * plan_.slots;
  }

  const ResidentPlan& plan_;
  Agreement& agreement_;
  int turn_ = 0;
};

__global__ void __launch_bounds__(grid_threads, grid_blocks_a_multiprocessor)
    grid_kernel(const ResidentPlan plan) {
  __shared__ __align__(16) unsigned char agreement[sizeof(Agreement)];
  GridGroup group(plan, *reinterpret_cast<Agreement*>(agreement));
  iterate<grid_tile>(group, plan);
}

/// The group of a streamed region: a single block, with its inboxes in shared memory.
class BlockGroup {
 public:
  __device__ explicit BlockGroup(Pair* inboxes) : inboxes_(inboxes) {}
  __device__ int slot() const { return static_cast<int>(threadIdx.x); }
  __device__ int region() const { return static_cast<int>(blockIdx.x); }
  __device__ Pair* inbox() const { return inboxes_ + threadIdx.x; }
  __device__ Pair* inbox_of(int slot) const { return inboxes_ + slot; }
  __device__ static constexpr int offset(int buffer, int place) {
    return (buffer * inbox_pairs + place) * streaming_threads;
  }
  __device__ void sync() const { __syncthreads(); }

 private:
  Pair* inboxes_;
};

template <bool looks_at_delta, bool has_source>
__global__ void __launch_bounds__(streaming_threads, streaming_blocks_a_multiprocessor(has_source))
    streaming_kernel(const StreamedPlan plan, unsigned long long* largest_change) {
  constexpr std::size_t bytes = 2 * inbox_pairs * streaming_threads * sizeof(Pair);
  __shared__ __align__(16) unsigned char inboxes[bytes];
  BlockGroup group(reinterpret_cast<Pair*>(inboxes));
  const double change =
      stream<streamed_rows, streamed_cols, looks_at_delta, has_source>(group, plan);
  if (looks_at_delta) raise_maximum(largest_change, change);
}

}  // namespace

int oldest_gpu() {
  constexpr int architectures[] = {__CUDA_ARCH_LIST__};  // as 750 for 7.5
  int oldest = architectures[0];
  for (const int architecture : architectures) oldest = std::min(oldest, architecture);
  return oldest / 10;
}

std::string kernel_name(const GroupSize& group) {
  const TileShape tile = tile_of(group.kind);
  return std::string(group.kind == GroupKind::cluster ? "cluster" : "grid") + ", " +
         std::to_string(tile.rows) + " x " + std::to_string(tile.cols) + ", " +
         std::to_string(group.most_threads);
}

std::string streaming_kernel_name() {
  return "streaming, " + std::to_string(streamed_tile.rows) + " x " +
         std::to_string(streamed_tile.cols) + ", " + std::to_string(streaming_threads);
}

int attribute_of_device(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  check_preparing(cudaGetDevice(&device));
  check_preparing(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

GpuKernel describe_kernel(const void* kernel, std::string name, int threads,
                          std::size_t dynamic_shared_bytes) {
  cudaFuncAttributes attributes{};
  check_preparing(cudaFuncGetAttributes(&attributes, kernel));
  GpuKernel described{.name = std::move(name),
                      .threads = threads,
                      .registers = attributes.numRegs,
                      .spilled_bytes = attributes.localSizeBytes,
                      .shared_bytes = attributes.sharedSizeBytes + dynamic_shared_bytes};
  check_preparing(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &described.blocks_a_multiprocessor, kernel, threads, dynamic_shared_bytes));
  described.occupancy = static_cast<double>(described.blocks_a_multiprocessor * threads) /
                        attribute_of_device(cudaDevAttrMaxThreadsPerMultiProcessor);
  return described;
}

void prepare_grid_kernel(PreparedKernels& prepared) {
  auto& [capacity, kernels] = prepared;
  capacity.grid_threads = grid_threads;
  if (attribute_of_device(cudaDevAttrCooperativeLaunch) == 0) return;
  kernels.push_back(describe_kernel(reinterpret_cast<const void*>(grid_kernel),
                                    kernel_name({GroupKind::grid, grid_threads}), grid_threads, 0));
  capacity.most_grid_blocks = kernels.back().blocks_a_multiprocessor * capacity.multiprocessors;
}

cudaError_t launch_grid_kernel(const GroupSize& group, const ResidentPlan& plan,
                               cudaStream_t stream) {
  ResidentPlan argument = plan;
  void* arguments[] = {&argument};
  return cudaLaunchCooperativeKernel(grid_kernel, static_cast<unsigned>(group.blocks),
                                     static_cast<unsigned>(group.threads), arguments, 0, stream);
}

void prepare_streaming_kernel(PreparedKernels& prepared) {
  prepared.capacity.region_rows = streamed_rows;
  prepared.capacity.region_cols = streamed_cols;
  prepared.kernels.push_back(
      describe_kernel(reinterpret_cast<const void*>(streaming_kernel<false, false>),
                      streaming_kernel_name(), streaming_threads, 0));
}

cudaError_t launch_streaming_kernel(std::size_t regions, const StreamedPlan& plan,
                                    unsigned long long* largest_change, cudaStream_t stream) {
  const bool looks_at_delta = largest_change != nullptr;
  const auto kernel = plan.terms != nullptr ? looks_at_delta ? streaming_kernel<true, true>
                                                             : streaming_kernel<false, true>
                      : looks_at_delta ? streaming_kernel<true, false>
                                            : streaming_kernel<false, false>;
  kernel<<<static_cast<unsigned>(regions), streaming_threads, 0, stream>>>(plan, largest_change);
  return cudaGetLastError();
}

}  // namespace wallheat::gpu
