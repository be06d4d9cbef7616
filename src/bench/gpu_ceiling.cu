#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "bench/gpu_ceiling.hpp"
#include "solve/gpu/cuda_stream.hpp"

namespace wallheat {
namespace {

constexpr int threads_a_block = 256;

/// Eight chains hide the latency of an addition, together with the other warps.
constexpr int chains = 8;

__global__ void __launch_bounds__(threads_a_block)
    add_chains(double step, std::int64_t rounds, double* sink) {
  double sums[chains];
#pragma unroll
  for (int chain = 0; chain < chains; ++chain) sums[chain] = threadIdx.x + chain;
#pragma unroll 8
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (int chain = 0; chain < chains; ++chain) sums[chain] += step;
  }
  double total = 0;
#pragma unroll
  for (int chain = 0; chain < chains; ++chain) total += sums[chain];
  if (total == -1) *sink = total;  // never: so that the sums are not left out
}

/// Cells that each thread has in shared memory: so many reads are under way at a time.
constexpr int cells_a_thread = 4;

__global__ void __launch_bounds__(threads_a_block) rotate_cells(std::int64_t rounds, double* sink) {
  // A warp's 32 cells are neighbours: two wavefronts of 128 bytes, no conflict. Volatile, so that
  // each read and each write is made.
  __shared__ volatile double cells[cells_a_thread][threads_a_block];
#pragma unroll
  for (int cell = 0; cell < cells_a_thread; ++cell) cells[cell][threadIdx.x] = cell;
#pragma unroll 4
  for (std::int64_t round = 0; round < rounds; ++round) {
    double values[cells_a_thread];
#pragma unroll
    for (int cell = 0; cell < cells_a_thread; ++cell) values[cell] = cells[cell][threadIdx.x];
#pragma unroll
    for (int cell = 0; cell < cells_a_thread; ++cell)
      cells[(cell + 1) % cells_a_thread][threadIdx.x] = values[cell];
  }
  if (cells[0][threadIdx.x] == -1) *sink = cells[1][threadIdx.x];
}

/// Two points in a stream's time.
class Interval {
 public:
  Interval() {
    gpu::check(cudaEventCreate(&begin_), "making an event");
    gpu::check(cudaEventCreate(&end_), "making an event");
  }
  ~Interval() {
    (void)cudaEventDestroy(begin_);
    (void)cudaEventDestroy(end_);
  }
  Interval(const Interval&) = delete;
  Interval& operator=(const Interval&) = delete;

  template <class Launch>
  double seconds_of(Launch launch) {
    gpu::check(cudaEventRecord(begin_), "measuring");
    launch();
    gpu::check(cudaGetLastError(), "measuring");
    gpu::check(cudaEventRecord(end_), "measuring");
    gpu::check(cudaEventSynchronize(end_), "measuring");
    float milliseconds = 0;
    gpu::check(cudaEventElapsedTime(&milliseconds, begin_, end_), "measuring");
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// Rounds per second, all threads together making one: the best of several tries that are long
/// enough for launch and clock not to count.
template <class Launch>
double best_rounds_per_s(Launch launch) {
  constexpr double long_enough_s = 0.02;
  constexpr int tries = 7;
  Interval interval;
  std::int64_t rounds = 1024;
  while (interval.seconds_of([&] { launch(rounds); }) < long_enough_s) rounds *= 2;
  double best_s = interval.seconds_of([&] { launch(rounds); });
  for (int attempt = 1; attempt < tries; ++attempt)
    best_s = std::min(best_s, interval.seconds_of([&] { launch(rounds); }));
  return static_cast<double>(rounds) / best_s;
}

/// As many blocks of a kernel as the device runs at a time.
template <class Kernel>
int blocks_that_fill(int ordinal, Kernel* kernel) {
  int multiprocessors = 0;
  int blocks = 0;
  gpu::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal),
             "measuring");
  gpu::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads_a_block, 0),
             "measuring");
  return multiprocessors * blocks;
}

/// Copies `count` pairs of doubles, one after the other over all threads.
__global__ void copy_pairs(double2* to, const double2* from, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = from[i];
}

}  // namespace

GpuCeiling measure_gpu_ceiling(int ordinal) {
  gpu::check(cudaSetDevice(ordinal), "selecting the device");
  gpu::DeviceArray<double> sink(1);
  const int adders = blocks_that_fill(ordinal, add_chains);
  const double additions = best_rounds_per_s([&](std::int64_t rounds) {
    add_chains<<<adders, threads_a_block>>>(1e-9, rounds, sink.data());
  });
  const int movers = blocks_that_fill(ordinal, rotate_cells);
  const double moves = best_rounds_per_s(
      [&](std::int64_t rounds) { rotate_cells<<<movers, threads_a_block>>>(rounds, sink.data()); });
  return {additions * chains * threads_a_block * adders,
          moves * cells_a_thread * threads_a_block * movers * 2 * sizeof(double)};
}

GpuCopies measure_gpu_copies(int ordinal) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  gpu::check(cudaSetDevice(ordinal), "selecting the device");
  gpu::DeviceArray<std::byte> device(bytes);
  std::vector<std::byte> pageable(bytes);
  void* taken = nullptr;
  gpu::check(cudaMallocHost(&taken, bytes), "taking pinned memory");
  const std::unique_ptr<void, decltype(&cudaFreeHost)> pinned(taken, cudaFreeHost);
  // By the host's clock, as a user's program waits for it: copies of pageable memory begin on the
  // host.
  const auto best_bytes_per_s = [&](const auto& begin) {
    constexpr int tries = 7;
    double best = 0;
    for (int attempt = 0; attempt < tries; ++attempt) {
      const auto start = std::chrono::steady_clock::now();
      begin();
      gpu::check(cudaDeviceSynchronize(), "copying");
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      best = std::max(best, static_cast<double>(bytes) / seconds.count());
    }
    return best;
  };
  const auto bytes_per_s = [&](void* to, const void* from) {
    return best_bytes_per_s(
        [&] { gpu::check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying"); });
  };
  const int movers = blocks_that_fill(ordinal, copy_pairs);
  const auto mapped_bytes_per_s = [&](void* to, const void* from) {
    return best_bytes_per_s([&] {
      copy_pairs<<<movers, threads_a_block>>>(
          static_cast<double2*>(to), static_cast<const double2*>(from), bytes / sizeof(double2));
      gpu::check(cudaGetLastError(), "copying");
    });
  };
  return {.up_pageable = bytes_per_s(device.data(), pageable.data()),
          .up_pinned = bytes_per_s(device.data(), pinned.get()),
          .down_pageable = bytes_per_s(pageable.data(), device.data()),
          .down_pinned = bytes_per_s(pinned.get(), device.data()),
          .up_mapped = mapped_bytes_per_s(device.data(), pinned.get()),
          .down_mapped = mapped_bytes_per_s(pinned.get(), device.data())};
}

}  // namespace wallheat
