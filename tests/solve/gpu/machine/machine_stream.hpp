#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "solve/gpu/machine/machine.hpp"
#include "solve/gpu/stream.hpp"

namespace wallheat::gpu {

/// The stream of a GPU solver on the emulator. Its device memory is host memory; operations are
/// executed immediately.
class MachineStream final : public Stream {
 public:
  explicit MachineStream(std::uint64_t seed = 1) : machine(seed) {}

  [[nodiscard]] const DeviceCapacity& capacity() const override { return device; }
  [[nodiscard]] Memory device_memory(std::size_t bytes) override;
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t row_bytes, std::size_t rows) override;
  void clear(void* memory, std::size_t bytes) override;
  void run_cluster(int blocks, int threads, const ClusterKernelArgs& plan) override;
  void run_streaming(std::size_t regions, const StreamingKernelArgs& plan,
                     unsigned long long* largest_change) override;
  void record(int recording, const std::function<void()>& launch) override;
  void replay(int recording) override;
  void wait() override { work_is_out = false; }
  void mark(TimingPoint moment) override { marks.push_back(moment); }

  Machine machine;
  DeviceCapacity device{.multiprocessors = 132,
                        .block_threads = cluster_threads,
                        .max_cluster_blocks = max_cluster_blocks,
                        .memory_bytes = std::size_t{64} << 20};
  std::size_t free_bytes = ~std::size_t{0};  ///< free device memory
  std::function<void(const ClusterKernelArgs&)> after_cluster{};
  std::function<void()> after_recording{};
  int last_blocks = 0;  ///< number of blocks of the last cluster; 0: none was launched
  int streaming_launches = 0;
  int recordings_made = 0;
  int replays = 0;
  int allocations = 0;  ///< number of allocations of device memory and of pinned memory
  std::vector<TimingPoint> marks{};
  bool work_is_out = false;  ///< an operation was enqueued since the last wait()

 private:
  using Recording = std::vector<std::function<void()>>;
  std::array<Recording, recordings> recorded_{};
  Recording* current_ = nullptr;  ///< null: launches are executed
};

}  // namespace wallheat::gpu
