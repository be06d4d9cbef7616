#include "solve/gpu/machine/machine_stream.hpp"

#include <cstring>
#include <new>

#include "solve/gpu/cluster.cuh"
#include "solve/gpu/streaming.cuh"

namespace wallheat::gpu {

Memory MachineStream::device_memory(std::size_t bytes) {
  if (bytes > free_bytes) throw std::bad_alloc();
  return pinned_memory(bytes);
}

Memory MachineStream::pinned_memory(std::size_t bytes) {
  ++allocations;
  auto* const memory = new (std::align_val_t{256}) std::byte[bytes];
  std::memset(memory, 0xcd, bytes);  // marks uninitialized memory
  return {memory, [](std::byte* taken) { operator delete[](taken, std::align_val_t{256}); }};
}

void MachineStream::copy(void* to, const void* from, std::size_t bytes) {
  work_is_out = true;
  std::memcpy(to, from, bytes);
}

void MachineStream::copy_rows(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t row_bytes, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row)
    copy(static_cast<std::byte*>(to) + row * to_pitch,
         static_cast<const std::byte*>(from) + row * from_pitch, row_bytes);
}

void MachineStream::clear(void* memory, std::size_t bytes) { std::memset(memory, 0, bytes); }

void MachineStream::run_cluster(int blocks, int threads, const ClusterKernelArgs& plan) {
  last_blocks = blocks;
  machine.run({blocks, threads, sizeof(BlockMemory), true}, [&] { cluster_kernel(plan); });
  if (after_cluster) after_cluster(plan);
}

void MachineStream::run_streaming(std::size_t regions, const StreamingKernelArgs& plan,
                                  unsigned long long* largest_change) {
  if (current_ != nullptr) {
    current_->push_back([=, this] { run_streaming(regions, plan, largest_change); });
    return;
  }
  work_is_out = true;
  ++streaming_launches;
  const bool has_source = plan.terms != nullptr;
  machine.run({static_cast<int>(regions), region_threads, 0, false}, [&] {
    if (largest_change == nullptr)
      has_source ? streaming_kernel<false, true>(plan, nullptr)
                 : streaming_kernel<false, false>(plan, nullptr);
    else
      has_source ? streaming_kernel<true, true>(plan, largest_change)
                 : streaming_kernel<true, false>(plan, largest_change);
  });
}

void MachineStream::record(int recording, const std::function<void()>& launch) {
  ++recordings_made;
  current_ = &recorded_.at(static_cast<std::size_t>(recording));
  current_->clear();
  launch();
  current_ = nullptr;
  if (after_recording) after_recording();
}

void MachineStream::replay(int recording) {
  ++replays;
  for (const auto& launch : recorded_.at(static_cast<std::size_t>(recording))) launch();
}

}  // namespace wallheat::gpu
