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

constexpr int inbox_pairs = small_tile.inbox_pairs();  // of the grid and of streamed regions
static_assert(grid_tile == small_tile && streamed_tile == small_tile);
constexpr int grid_threads = 256;
constexpr int grid_blocks_a_multiprocessor = 2;  // what 128 registers a thread allow

class GridGroup {
 public:
  __device__ GridGroup(const ResidentPlan& plan, Agreement& agreement)
      : plan_(plan), agreement_(agreement) {}
  __device__ int slot() const { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
  __device__ bool leads() const { return threadIdx.x == 0; }
  __device__ Pair* inbox() const { return plan_.exchanged + slot(); }
  using Neighbour = Pair*;
  __device__ Neighbour neighbour(std::int32_t slot) const {
    return slot < 0 ? nullptr : plan_.exchanged + slot;
  }
  __device__ static void give(Neighbour to, int offset, Pair pair) {
    if (to != nullptr) to[offset] = pair;
  }
  __device__ int offset(int buffer, int place) const {
    return (buffer * inbox_pairs + place) * plan_.slots;
  }
  __device__ static bool all_agree(bool yes) { return __all_sync(0xffffffff, yes) != 0; }
  __device__ void await_edges() const { sync(); }
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

/// The group of a single block, with its inboxes in shared memory.
template <int threads>
class BlockGroup {
 public:
  __device__ explicit BlockGroup(Pair* inboxes) : inboxes_(inboxes) {}
  __device__ int slot() const { return static_cast<int>(threadIdx.x); }
  __device__ int region() const { return static_cast<int>(blockIdx.x); }
  __device__ Pair* inbox() const { return inboxes_ + threadIdx.x; }
  __device__ Pair* inbox_of(int slot) const { return inboxes_ + slot; }
  __device__ static constexpr int offset(int buffer, int place) {
    return (buffer * inbox_pairs + place) * threads;
  }
  __device__ void sync() const { __syncthreads(); }

 private:
  Pair* inboxes_;
};

template <int region_rows, int region_cols, bool looks_at_delta>
__global__ void __launch_bounds__(region_rows* region_cols, 1)
    streaming_kernel(const StreamedPlan plan, unsigned long long* largest_change) {
  extern __shared__ __align__(16) unsigned char inboxes[];
  BlockGroup<region_rows * region_cols> group(reinterpret_cast<Pair*>(inboxes));
  const double change = stream<region_rows, region_cols, looks_at_delta>(group, plan);
  if (looks_at_delta) raise_maximum(largest_change, change);
}

template <int rows, int cols>
constexpr std::size_t region_memory = 2 * inbox_pairs* rows* cols * sizeof(Pair);

template <int rows, int cols>
void allow_region(PreparedKernels& prepared) {
  constexpr int bytes = static_cast<int>(region_memory<rows, cols>);
  constexpr auto limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
  check_preparing(cudaFuncSetAttribute(streaming_kernel<rows, cols, false>, limit, bytes));
  check_preparing(cudaFuncSetAttribute(streaming_kernel<rows, cols, true>, limit, bytes));
  prepared.capacity.region_rows = rows;
  prepared.capacity.region_cols = cols;
  prepared.kernels.push_back(
      describe_kernel(reinterpret_cast<const void*>(streaming_kernel<rows, cols, false>),
                      streaming_kernel_name(rows, cols), rows * cols, bytes));
}

template <int rows, int cols>
cudaError_t launch_region(std::size_t regions, const StreamedPlan& plan,
                          unsigned long long* largest_change, cudaStream_t stream) {
  const auto kernel = largest_change != nullptr ? streaming_kernel<rows, cols, true>
                                                : streaming_kernel<rows, cols, false>;
  kernel<<<static_cast<unsigned>(regions), rows * cols, region_memory<rows, cols>, stream>>>(
      plan, largest_change);
  return cudaGetLastError();
}

}  // namespace

int oldest_gpu() {
  constexpr int architectures[] = {__CUDA_ARCH_LIST__};  // as 750 for 7.5
  int oldest = architectures[0];
  for (const int architecture : architectures) oldest = std::min(oldest, architecture);
  return oldest / 10;
}

std::string kernel_name(const GroupSize& group) {
  return std::string(group.kind == GroupKind::cluster ? "cluster" : "grid") + ", " +
         std::to_string(group.tile.rows) + " x " + std::to_string(group.tile.cols) + ", " +
         std::to_string(group.most_threads);
}

std::string streaming_kernel_name(int region_rows, int region_cols) {
  return "streaming, " + std::to_string(streamed_tile.rows) + " x " +
         std::to_string(streamed_tile.cols) + ", " + std::to_string(region_rows * region_cols);
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
                                    kernel_name({GroupKind::grid, grid_tile, grid_threads}),
                                    grid_threads, 0));
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
  const auto available =
      static_cast<std::size_t>(attribute_of_device(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  if (available >= region_memory<16, 32>) return allow_region<16, 32>(prepared);
  if (available >= region_memory<16, 16>) return allow_region<16, 16>(prepared);
  allow_region<8, 16>(prepared);
}

cudaError_t launch_streaming_kernel(int region_rows, int region_cols, std::size_t regions,
                                    const StreamedPlan& plan, unsigned long long* largest_change,
                                    cudaStream_t stream) {
  if (region_cols == 32) return launch_region<16, 32>(regions, plan, largest_change, stream);
  if (region_rows == 16) return launch_region<16, 16>(regions, plan, largest_change, stream);
  return launch_region<8, 16>(regions, plan, largest_change, stream);
}

}  // namespace wallheat::gpu
